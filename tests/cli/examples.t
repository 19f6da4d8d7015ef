#!/usr/bin/env perl
# The pipelines in examples/ plan as they are on the built-in catalog, and tell what they are to tell.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Plan;
use Test::More;

my $examples = "$FindBin::Bin/../../examples";
$ENV{TRADEWIND_TODAY} = '2024-08-19'; # no price of the built-in catalog is old

sub example
{
    my ($name, @args) = @_;
    my ($code, $out, $err) = run('plan', "$examples/$name.yaml", '--json', @args);
    is("$code:$err", '0:', join ' ', "$name plans without a warning", @args);
    return eval { decode_json($out) } // {};
}

sub clouds
{
    my %clouds = map { $_->{cloud} => 1 } @{$_[0]{stages}};
    return join ' ', sort keys %clouds;
}

for my $path (sort glob "$examples/*.yaml") {
    my ($name) = $path =~ m{([^/]+)\.yaml$};
    my ($code, undef, $err) = run('plan', '--check', $path);
    is("$code:$err", '0:', "$name is valid");
    my $plan = example($name);
    is($plan->{status}, 'optimal', "$name: proven");
    my ($human) = (run('plan', $path))[1];
    my @wide = grep { length > 100 } split /\n/, $human =~ s/[^\x00-\x7f]{3}/-/gr;
    is(join("\n", @wide), '', "$name: within 100 columns");
}

# The paper's machines: e2 of Google for the first stage, g5 of AWS for the second, cheaper than AWS
# alone although the data moves; exhaustive search, the paper's method, agrees.
my $conductor = example('conductor');
is(clouds($conductor), 'aws gcp', 'conductor: two clouds');
is(stage($conductor, 'preprocess')->{instance_type}, 'e2-standard-8', 'conductor: e2 first');
is(stage($conductor, 'train')->{instance_type}, 'g5.xlarge', 'conductor: then g5');
# 0.45 GB that leave gcp at $0.12.
is_usd(stage($conductor, 'train')->{transfer_usd}, 0.054, 'conductor: egress is counted');
my ($aws) = grep { $_->{cloud} eq 'aws' } @{$conductor->{single_cloud}};
cmp_ok($aws->{cost_usd}, '>', $conductor->{cost_usd}, 'conductor: AWS alone is dearer');
my $referee = example('conductor', '--solver', 'exhaustive');
is_usd($referee->{cost_usd}, $conductor->{cost_usd}, 'conductor: the exhaustive search agrees');

# 180 GB at $0.09 are more than all machines: what is made of the raw images is read where they lie.
my $mnist = example('mnist');
is(stage($mnist, $_)->{cloud}, 'aws', "mnist: $_ stays with the raw images") for qw(preprocess train);

my $sweep = example('sweep');
my @readers = map { stage($sweep, "train-$_") } qw(small medium large);
my ($home, %elsewhere) = join '/', @{stage($sweep, 'prepare')}{qw(cloud region)};
$elsewhere{$_}++ for grep { $_ ne $home } map { "$_->{cloud}/$_->{region}" } @readers;
cmp_ok(scalar(keys %elsewhere), '>', 0, 'sweep: training moves away from the shards');
is(scalar(grep { $_->{transfer_usd} > 0 } @readers), scalar(keys %elsewhere),
   'sweep: the shards are paid for once a place');

my $spot = example('spot', '--market', 'any');
ok(scalar(grep { $_->{market} eq 'spot' } @{$spot->{stages}}), 'spot: uses the spot market');
cmp_ok($spot->{time_s}, '<=', 20 * 3600, 'spot: within its deadline');
done_testing();
