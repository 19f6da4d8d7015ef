#!/usr/bin/env perl
# What the documents show is what the program prints: every ```console block of README.md and docs/
# is run by bash, in order, in a directory and a TRADEWIND_HOME of the document's own that has the
# examples in it, and compared. Only elapsed times, times of day and the user's name may differ: he
# is ann in the documents. In ```console measured blocks, which show real work, every time, every
# amount and what this machine has may. Blocks of ```console on hosts are for tests that have hosts:
# cluster-run.t. Files that the documents link to exist.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $root = abs_path(dirname(__FILE__) . '/../..');
chdir $root or die "chdir: $!";
my $program = $ENV{TRADEWIND} // "$root/build/tradewind";
my $scratch = tempdir('tradewind-docs-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $user = getpwuid($<) // 'unknown';
mkdir "$scratch/bin" or die "mkdir: $!";
symlink abs_path($program), "$scratch/bin/tradewind" or die "symlink: $!";
symlink abs_path("$program-aggregator"), "$scratch/bin/tradewind-aggregator" or die "symlink: $!";
$ENV{PATH} = "$scratch/bin:$ENV{PATH}";
$ENV{LC_ALL} = 'C.UTF-8';
$ENV{TRADEWIND_TODAY} = '2026-11-18'; # prices do not grow old
delete @ENV{qw(TRADEWIND_LOG NO_COLOR COLUMNS)};

# Blocks as [file, line, command, output, measured].
sub examples_of
{
    my ($path) = @_;
    my (@examples, $inside, $measured);
    open my $file, '<', $path or die "$path: $!";
    while (my $line = <$file>) {
        if ($line =~ /^```/) {
            $inside = $line =~ /^```console( measured)?$/;
            $measured = $1;
        } elsif ($inside && $line =~ /^\$ (.*)$/) {
            push @examples, [$path, $., $1, '', $measured];
        } elsif ($inside) {
            $examples[-1][3] .= $line;
        }
    }
    return @examples;
}

# Names and figures have different lengths, so that where one stands columns do not count.
sub masked
{
    my ($text, $has_name, $measured) = @_;
    if ($measured) {
        $text =~ s/\b[0-9.]+ (?:ms|s|m|h|CPUs|GB)\b/N/g;
        $text =~ s/N(?: N)+/N/g; # 1 m 05 s
        $text =~ s/\$[0-9.]+/\$N/g;
        $text =~ s/ +/ /g;
    }
    $text =~ s/\b[0-9.]+ ms\b/N ms/g;
    $text =~ s/\bafter [0-9.]+ s\b/after N s/g;
    $text =~ s/\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?Z)?/TIME/g;
    $text =~ s/ +/ /g if $has_name;
    return $text =~ s/\s+\z/\n/r;
}

# Standard output and errors of a command that ann typed, as ann would see them.
sub output_of
{
    my ($command, $directory, $has_name) = @_;
    $command =~ s/\bann\b/$user/g;
    my $pid = open my $out, '-|';
    defined $pid or die "fork: $!";
    if (!$pid) {
        open STDERR, '>&', \*STDOUT;
        chdir $directory and exec 'bash', '-c', $command;
        die "bash: $!";
    }
    my $got = do { local $/; <$out> } // '';
    close $out;
    my $cut = substr $user, 0, 15; # log has room for no more
    $got =~ s/\b(?:\Q$user\E\b|\Q$cut\E…)/ann/g if $has_name;
    return $got;
}

my $shown = 0;
for my $path ('README.md', sort glob 'docs/*.md') {
    my $directory = "$scratch/" . $path =~ s{/}{-}gr;
    mkdir $directory or die "mkdir: $!";
    symlink "$root/examples", "$directory/examples" or die "symlink: $!";
    $ENV{TRADEWIND_HOME} = "$directory/home";
    for my $example (examples_of($path)) {
        my (undef, $line, $command, $want, $measured) = @$example;
        next if $measured && $ENV{TRADEWIND_SLOW}; # other tests do such work with sanitizers
        my $has_name = "$command$want" =~ /\bann\b/;
        is(masked(output_of($command, $directory, $has_name), $has_name, $measured),
            masked($want, $has_name, $measured), "$path:$line: $command");
        $shown++;
    }
    system $program, 'broker', '--stop' if -e "$ENV{TRADEWIND_HOME}/broker.sock";
}
# The picture of README.md is the one that the program draws.
{
    local $/;
    $ENV{TRADEWIND_HOME} = "$scratch/pictures";
    system("$program plan examples/mnist.yaml --pareto --svg $scratch/frontier.svg >$scratch/out 2>&1") == 0
        or diag('plan --pareto --svg failed');
    my ($drawn, $kept) = map { open my $f, '<', $_ or die "$_: $!"; <$f> }
        "$scratch/frontier.svg", 'docs/images/mnist-frontier.svg';
    is($kept, $drawn, 'docs/images/mnist-frontier.svg: as plan --pareto --svg draws it');
}
cmp_ok($shown, '>=', 2, 'the documents show the program at work');

for my $path (glob('*.md'), glob('docs/*.md'), glob('data/*.md')) {
    open my $file, '<', $path or die "$path: $!";
    my $text = do { local $/; <$file> };
    my @missing = grep { !-e dirname($path) . "/$_" }
        map { s/#.*//r } grep { !/^(?:https?:|#)/ } $text =~ /\]\(([^)\s]+)\)/g;
    is("@missing", '', "$path: everything it links to is there");
}
done_testing();
