#!/usr/bin/env perl
# What the documents show is what the program prints: every ```console block of README.md and docs/
# is run, line by line that begins with "$ tradewind", and compared. Only elapsed times may differ.
# Files that the documents link to exist.
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
$ENV{TRADEWIND_HOME} = "$scratch/home";
$ENV{LC_ALL} = 'C.UTF-8';
delete @ENV{qw(TRADEWIND_LOG NO_COLOR)};

# Blocks as [file, line, command, output].
sub examples_of
{
    my ($path) = @_;
    my (@examples, $inside);
    open my $file, '<', $path or die "$path: $!";
    while (my $line = <$file>) {
        if ($line =~ /^```/) {
            $inside = $line =~ /^```console$/;
        } elsif ($inside && $line =~ /^\$ (.*)$/) {
            push @examples, [$path, $., $1, ''];
        } elsif ($inside) {
            $examples[-1][3] .= $line;
        }
    }
    return @examples;
}

sub masked
{
    my ($text) = @_;
    $text =~ s/\b[0-9.]+ ms\b/N ms/g;
    return $text =~ s/\s+\z/\n/r;
}

my @examples = map { examples_of($_) } 'README.md', sort glob 'docs/*.md';
cmp_ok(scalar(@examples), '>=', 2, 'the documents show the program at work');
for my $example (@examples) {
    my ($path, $line, $command, $want) = @$example;
    my $name = "$path:$line: $command";
    my ($first, @args) = split ' ', $command;
    if ($first !~ m{^(?:build/)?tradewind$} || $command =~ /[|;<>&"'`\$]/) {
        fail("$name: is a plain call of tradewind");
        next;
    }
    open my $out, '-|', $program, @args or die "$program: $!";
    my $got = do { local $/; <$out> } // '';
    close $out;
    is(masked($got), masked($want), $name);
}

for my $path (glob('*.md'), glob('docs/*.md'), glob('data/*.md')) {
    open my $file, '<', $path or die "$path: $!";
    my $text = do { local $/; <$file> };
    my @missing = grep { !-e dirname($path) . "/$_" }
        map { s/#.*//r } grep { !/^(?:https?:|#)/ } $text =~ /\]\(([^)\s]+)\)/g;
    is("@missing", '', "$path: everything it links to is there");
}
done_testing();
