# For tests of `tradewind plan` in Perl: small catalogs and pipelines in a scratch directory, and the
# JSON that comes back. The test stands in that directory, with an empty TRADEWIND_HOME.
package Plan;
use strict;
use warnings;
use Cwd qw(abs_path getcwd);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

our @EXPORT = qw(offers transfers storage config pipeline run best answer fails is_usd is_s stage);

my $root = abs_path(dirname(__FILE__) . '/../..');
my $program = $ENV{TRADEWIND} // "$root/build/tradewind";
my $start = getcwd();
my $scratch = tempdir('tradewind-plan-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chdir $scratch or die "chdir: $!";
END { chdir $start }
$ENV{TRADEWIND_HOME} = "$scratch/home";
$ENV{LC_ALL} = 'C.UTF-8';
$ENV{TRADEWIND_TODAY} = '2026-11-18'; # prices do not grow old
delete @ENV{qw(TRADEWIND_LOG NO_COLOR COLUMNS)};
mkdir "$scratch/$_" for qw(home catalog);

sub put
{
    my ($path, @lines) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file map { "$_\n" } @lines;
    close $file or die "$path: $!";
}

# Rows as in offers.csv; the catalog is catalog/. Without transfers and storage there are none.
sub offers
{
    unlink glob 'catalog/*';
    put('catalog/offers.csv',
        'cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,'
        . 'network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour', @_);
}

sub transfers
{
    put('catalog/transfers.csv',
        'src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms', @_);
}

sub storage
{
    put('catalog/storage.csv',
        'cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,'
        . 'usd_per_1000_list', @_);
}

# Text of config.yaml; none = the defaults.
sub config
{
    unlink 'home/config.yaml';
    put('home/config.yaml', @_) if @_;
}

sub pipeline
{
    put('pipeline.yaml', @_);
}

# (exit code, stdout, stderr)
sub run
{
    my @args = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>', '.stdout' or die;
        open STDERR, '>', '.stderr' or die;
        exec $program, @args or die "$program: $!";
    }
    waitpid $pid, 0;
    my $code = $? & 127 ? "signal " . ($? & 127) : $? >> 8;
    my @text = map { local $/; open my $f, '<', $_ or die; scalar(<$f>) // '' } qw(.stdout .stderr);
    return ($code, @text);
}

# (exit code, JSON of stdout or undef, stderr) of planning pipeline.yaml on catalog/
sub answer
{
    my ($code, $out, $err) = run('plan', 'pipeline.yaml', '--catalog', 'catalog', '--json', @_);
    return ($code, scalar eval { decode_json($out) }, $err);
}

# The plan, which must exist; `exact` and `exhaustive` must agree about it.
sub best
{
    my ($name, @args) = @_;
    my ($code, $plan, $err) = answer(@args);
    is($code, 0, "$name: there is a plan") or diag($err);
    my (undef, $referee) = answer(@args, '--solver', 'exhaustive');
    my $same = ref $plan && ref $referee && abs($plan->{cost_usd} - $referee->{cost_usd}) < 5e-7
        && abs($plan->{time_s} - $referee->{time_s}) < 1e-6 * $plan->{time_s}
        && encode($plan) eq encode($referee);
    ok($same, "$name: the exhaustive search finds the same plan");
    return $plan // {};
}

sub encode
{
    my ($plan) = @_;
    return join ' ', map { my $s = $_; map { $s->{$_} } qw(cloud region instance_type market zone) }
        @{$plan->{stages}};
}

sub stage
{
    my ($plan, $name) = @_;
    return (grep { $_->{name} eq $name } @{$plan->{stages} // []})[0] // {};
}

# fails(NAME, CODE, PART, ARGUMENTS...): exits with CODE, PART in the message
sub fails
{
    my ($name, $wanted, $part, @args) = @_;
    my ($code, $out, $err) = run('plan', 'pipeline.yaml', '--catalog', 'catalog', @args);
    ok($code eq $wanted && index($err, $part) >= 0, $name)
        or diag("exit code $code, wanted $wanted and \"$part\" in:\n$err");
}

# Amounts agree to the micro-dollar.
sub is_usd
{
    my ($got, $want, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    ok(defined $got && abs($got - $want) < 5e-7, $name)
        or diag('got ' . ($got // 'nothing') . ", wanted $want");
}

sub is_s
{
    my ($got, $want, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    ok(defined $got && abs($got - $want) <= 1e-6 + 1e-6 * abs $want, $name)
        or diag('got ' . ($got // 'nothing') . ", wanted $want");
}

1;
