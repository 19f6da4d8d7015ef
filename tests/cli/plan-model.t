#!/usr/bin/env perl
# Every line of the cost model, on catalogs small enough to compute by hand. Machines cost $3.60 an
# hour where nothing else matters: a tenth of a cent a second. Boot takes 60 s unless configured.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Plan;
use Test::More;

my $one = 'aws,r1,,m1,4,16,,,,3.6,,';

sub billing
{
    offers($one);
    pipeline('name: p', 'estimate: {seconds: 10}');
    my $p = best('billing minimum');
    is_usd($p->{cost_usd}, 0.06, 'ten seconds are billed as sixty');
    is_s($p->{time_s}, 70, 'but take 60 s of boot and 10 s of run');

    pipeline('estimate: {seconds: 50, setup: 20}');
    $p = best('setup');
    is_usd($p->{cost_usd}, 0.07, 'setup is billed: 20 s + 50 s');
    is_s($p->{time_s}, 130, 'boot is not billed but takes its time: 60 + 20 + 50');
    my $s = stage($p, 'stage-1');
    is_s($s->{boot_s}, 60, 'boot_s');
    is_s($s->{setup_s}, 20, 'setup_s');
    is_s($s->{run_s}, 50, 'run_s');
    is_s($s->{finish_s} - $s->{start_s}, 130, 'from start to finish');

    # Given figures are good to 20 %: runs of 40 s and 60 s beside the 50 s.
    is_usd($p->{cost_low_usd}, 0.06, 'low end: 20 s + 40 s');
    is_usd($p->{cost_high_usd}, 0.08, 'high end: 20 s + 60 s');
    is_s($p->{time_low_s}, 120, 'low end of the time');
    is_s($p->{time_high_s}, 140, 'high end of the time');

    pipeline('num_nodes: 3', 'estimate: {seconds: 100}');
    $p = best('three nodes');
    is_usd($p->{cost_usd}, 0.3, 'three nodes cost three times as much');
    is_s($p->{time_s}, 160, 'and figures given are not divided by them');
    is(stage($p, 'stage-1')->{nodes}, 3, 'nodes');

    # 7 s at $0.0001 an hour are below half a micro-dollar, 60 s are 1.67: rounded half up to 2.
    offers('aws,r1,,m1,4,16,,,,0.0001,,');
    pipeline('estimate: {seconds: 7}');
    is_usd(best('rounding')->{cost_usd}, 0.000002, 'rounded to a micro-dollar');

    config('plan: {boot_s: 5}');
    is_s(best('configured boot')->{time_s}, 12, 'boot as configured');
    config();
}

sub guesses
{
    offers($one);
    pipeline('run: echo');
    my $p = best('no estimate');
    is_usd($p->{cost_usd}, 3.6, 'without an estimate: one hour');
    is_usd($p->{cost_low_usd}, 1.8, 'and half of it');
    is_usd($p->{cost_high_usd}, 5.4, 'to half as much again');
    is(scalar(@{$p->{guessed}}), 1, 'listed as guessed');
    like($p->{guessed}[0]{what}, qr/stage-1/, 'with the stage');
}

sub estimates
{
    # 4 and 16 vCPUs at 10 units of work, half of it parallel: base / (0.5 + 0.5 / n).
    # n = 4: 0.1 / 0.625 = 0.16 a second, 62.5 s; n = 16: 0.1 / 0.53125, 53.125 s.
    offers('aws,r1,,m1,4,16,,,,3.6,,', 'aws,r1,,m4,16,64,,,,14.4,,');
    pipeline('estimate: {work: 10, rate: {vcpu: {base: 0.1, parallel: 0.5}}}');
    is_s(stage(best('Amdahl'), 'stage-1')->{run_s}, 62.5, 'four vCPUs');
    my $p = best('Amdahl, least time', '--objective', 'time');
    is_s(stage($p, 'stage-1')->{run_s}, 53.125, 'sixteen vCPUs');
    is_usd($p->{cost_usd}, 0.24, 'billed for at least 60 s at $14.40 an hour');

    # Two nodes are eight vCPUs: 0.1 / (0.5 + 0.5 / 8) = 0.1778, 56.25 s.
    pipeline('num_nodes: 2', 'estimate: {work: 10, rate: {vcpu: {base: 0.1, parallel: 0.5}}}');
    is_s(stage(best('Amdahl over nodes'), 'stage-1')->{run_s}, 56.25, 'eight vCPUs on two nodes');

    # An accelerator that is listed beats the vCPUs: 2 x 0.5 a second make 20 units in 20 s,
    # and an offer with an accelerator that is not listed is rated by its 4 vCPUs: 20 / 0.4 = 50 s.
    offers('aws,r1,,g1,4,16,T4,2,,3.6,,', 'aws,r2,,h1,4,16,K80,1,,3.6,,');
    pipeline('estimate: {work: 20, rate: {vcpu: 0.1, t4: 0.5}}');
    is_s(stage(best('rate of an accelerator', '--region', 'r1'), 'stage-1')->{run_s}, 20,
         'rated by its two accelerators');
    is_s(stage(best('rate of the vCPUs', '--region', 'r2'), 'stage-1')->{run_s}, 50,
         'rated by its vCPUs');

    # The instance type beats the accelerator; what is not covered is not eligible.
    pipeline('estimate: {seconds: {T4: 100, g1: 80}}');
    my $p2 = best('figures by type');
    is_s(stage($p2, 'stage-1')->{run_s}, 80, 'an instance type beats an accelerator');
    is(stage($p2, 'stage-1')->{region}, 'r1', 'an offer without a figure is not eligible');

    # work: input is the total input in GB: 3 + 2 at 0.05 a second.
    offers($one);
    pipeline('inputs:', '  - {from: a, size: 3, place: aws/r1}', '  - {from: b, size: 2, place: aws/r1}',
             'estimate: {work: input, rate: {vcpu: 0.0125}}');
    is_s(stage(best('work: input'), 'stage-1')->{run_s}, 100, '5 GB at 4 x 0.0125 a second');

    # A table of one's own: 600 iterations at 2.5 a second on a T4.
    offers('aws,r1,,g1,4,16,T4,1,,3.6,,');
    Plan::put('speeds.csv', 'model,batch_size,T4', 'tiny,8,2.5');
    pipeline('estimate: {iterations: 600, model: tiny}');
    is_s(stage(best('iterations', '--throughputs', 'speeds.csv'), 'stage-1')->{run_s}, 240,
         '600 iterations at 2.5 a second');
}

sub spot
{
    # Half a preemption an hour on each of two nodes: L = 1. R is the boot, 1/60 h.
    # Without a checkpoint one segment: (1 + 1/60) (e - 1) h = 6288.911492 s.
    offers('aws,r1,,m1,4,16,,,,3.6,1.8,0.5');
    my @stage = ('num_nodes: 2', 'estimate: {hours: 1}');
    pipeline(@stage);
    my $p = best('spot', '--market', 'spot');
    is_s(stage($p, 'stage-1')->{run_s}, 6288.911492, 'no checkpoint: the whole run again');
    # Two nodes at $0.0005 a second for 6288.911492 s.
    is_usd($p->{cost_usd}, 6.288911, 'billed for the expected time at the spot price');
    is(stage($p, 'stage-1')->{market}, 'spot', 'market');
    is(stage($p, 'stage-1')->{price_usd_per_hour}, 1.8, 'the price is that of one node');

    # Three segments of 1/3 h: 3 (1 + 1/60) (e^(1/3) - 1) h = 4343.824427 s.
    pipeline(@stage, 'checkpoint: 20m');
    is_s(stage(best('checkpoints', '--market', 'spot'), 'stage-1')->{run_s}, 4343.824427,
         'a checkpoint every 20 minutes');
    # Segments of 25, 25 and 10 minutes: (1 + 1/60) (2 (e^(5/12) - 1) + e^(1/6) - 1) h.
    pipeline(@stage, 'checkpoint: 25m');
    is_s(stage(best('a shorter last segment', '--market', 'spot'), 'stage-1')->{run_s}, 4447.463661,
         'the last segment is shorter');
    pipeline(@stage, 'checkpoint: 2h');
    is_s(stage(best('a checkpoint too late', '--market', 'spot'), 'stage-1')->{run_s}, 6288.911492,
         'an interval beyond the run changes nothing');

    # R = boot 60 + setup 60 + input 80 s (100 GB at 10 Gbit/s): 200 s. One node, L = 0.5:
    # (2 + 200/3600) (e^0.5 - 1) h = 4800.537403 s.
    pipeline('inputs: [{from: d, size: 100, place: aws/r1}]', 'estimate: {hours: 1, setup: 60}');
    my $s = stage(best('restart time', '--market', 'spot'), 'stage-1');
    is_s($s->{input_s}, 80, '100 GB at the local 10 Gbit/s');
    is_s($s->{run_s}, 4800.537403, 'coming back costs boot, setup and input');

    offers('aws,r1,,m1,4,16,,,,3.6,1.8,0');
    pipeline('estimate: {hours: 1}');
    is_s(stage(best('never preempted', '--market', 'spot'), 'stage-1')->{run_s}, 3600, 'L = 0');

    # aws is 0.02 unless said: (50 + 1/60) (e^0.02 - 1) h = 3637.453285 s; then 1 as configured:
    # (1 + 1/60) (e - 1) h.
    offers('aws,r1,,m1,4,16,,,,3.6,1.8,');
    is_s(stage(best('default rate', '--market', 'spot'), 'stage-1')->{run_s}, 3637.453285,
         'the rate of aws by default');
    config('plan: {preemptions_per_hour: {aws: 1}}');
    is_s(stage(best('configured rate', '--market', 'spot'), 'stage-1')->{run_s}, 6288.911492,
         'the configured rate');
    config();

    # 40 preemptions an hour over 10 hours: e^400 hours.
    offers('aws,r1,,m1,4,16,,,,3.6,1.8,40');
    pipeline('estimate: {hours: 10}');
    is(stage(best('hopeless', '--market', 'any'), 'stage-1')->{market}, 'on-demand',
       'more than ten years: not eligible');
}

sub markets
{
    offers('aws,r1,,m1,4,16,,,,3.6,1.8,0', 'aws,r1,,spotless,4,16,,,,7.2,,');
    pipeline('estimate: {hours: 1}');
    is_usd(best('on demand by default')->{cost_usd}, 3.6, 'on-demand unless said');
    is_usd(best('spot', '--market', 'spot')->{cost_usd}, 1.8, '--market spot');
    is_usd(best('any', '--market', 'any')->{cost_usd}, 1.8, '--market any takes the better');
    pipeline('estimate: {hours: 1}', 'resources: {use_spot: true}');
    is_usd(best('use_spot: true')->{cost_usd}, 1.8, 'use_spot: true goes before --market');
    pipeline('estimate: {hours: 1}', 'resources: {use_spot: false}');
    is_usd(best('use_spot: false', '--market', 'spot')->{cost_usd}, 3.6, 'use_spot: false too');
    pipeline('estimate: {hours: 1}', 'resources: {instance_type: spotless, use_spot: true}');
    fails('a type without a spot price is not free on spot', 2, 'spot');
    offers('aws,r1,,m1,4,16,,,,0,,', 'aws,r1,,m2,4,16,,,,3.6,,');
    pipeline('estimate: {hours: 1}');
    is(stage(best('zero price'), 'stage-1')->{instance_type}, 'm2',
       'a price of zero is not for sale, never free');
}

sub inputs
{
    # From r0: 4 GB at 2 Gbit/s and 100 ms: 16.1 s; at home: 10 GB at 10 Gbit/s: 8 s.
    offers($one);
    transfers('aws,r0,aws,r1,0.02,0,2,100');
    pipeline('inputs:', '  - {from: s3://b/far, size: 4, place: aws/r0}',
             '  - {from: s3://b/near, size: 10, place: aws/r1}', 'estimate: {seconds: 100}');
    my $p = best('two inputs');
    my $s = stage($p, 'stage-1');
    is_s($s->{input_s}, 16.1, 'the slowest input counts, round trip included');
    is_usd($s->{transfer_usd}, 0.08, '4 GB at $0.02; nothing within one place');
    is_usd($s->{compute_usd}, 0.1161, 'the machine is billed while it reads');
    is_s($p->{time_s}, 176.1, 'boot 60, input 16.1, run 100');

    config('plan: {local_gbit: 1}');
    is_s(stage(best('local rate'), 'stage-1')->{input_s}, 80, 'local rate as configured');
    config();

    # 150 GB over marginal tiers: 100 at $0.10, 50 at $0.05.
    transfers('aws,r0,aws,r1,0.1,0,8,50', 'aws,r0,aws,r1,0.05,100,,');
    pipeline('inputs: [{from: s3://b/x, size: 150, place: aws/r0}]', 'estimate: {seconds: 100}');
    $s = stage(best('tiers'), 'stage-1');
    is_usd($s->{transfer_usd}, 12.5, 'marginal tiers');
    is_s($s->{input_s}, 150.05, 'speed and round trip are those of the lowest tier');

    # Tiers in any order, the lowest from 10 GB on extends to 0: 100 x 0.1 + 50 x 0.05 again. Each
    # transfer has its own tiers: twice 60 GB are 2 x 60 x 0.1, not 100 x 0.1 + 20 x 0.05.
    transfers('aws,r0,aws,r1,0.05,100,,', 'aws,r0,aws,r1,0.1,10,8,50');
    is_usd(stage(best('lowest tier'), 'stage-1')->{transfer_usd}, 12.5, 'the lowest tier extends to 0');
    pipeline('inputs:', '  - {from: s3://b/x, size: 60, place: aws/r0}',
             '  - {from: s3://b/y, size: 60, place: aws/r0}', 'estimate: {seconds: 100}');
    is_usd(stage(best('two transfers'), 'stage-1')->{transfer_usd}, 12, 'each transfer by itself');

    # No speed: 1 Gbit/s and said so.
    transfers('aws,r0,aws,r1,0.02,0,,');
    pipeline('inputs: [{from: s3://b/x, size: 5, place: aws/r0}]', 'estimate: {seconds: 100}');
    $p = best('unknown speed');
    is_s(stage($p, 'stage-1')->{input_s}, 40, '5 GB at 1 Gbit/s');
    ok(scalar(grep { "$_->{what} $_->{value} $_->{why}" =~ /1 Gbit/ } @{$p->{guessed}}),
       'an unknown speed is listed as guessed');
}

sub sources
{
    # 1 GB from this machine: 80 s at the uplink's 0.1 Gbit/s, free.
    offers($one);
    pipeline('inputs: [{from: ./data, size: 1, place: local}]', 'estimate: {seconds: 100}');
    my $s = stage(best('local'), 'stage-1');
    is_s($s->{input_s}, 80, 'the uplink by default');
    is_usd($s->{transfer_usd}, 0, 'what leaves this machine is free');
    config('plan: {uplink_gbit: 0.2}');
    is_s(stage(best('uplink'), 'stage-1')->{input_s}, 40, 'the uplink as configured');
    config();
    transfers('local,local,aws,*,0,0,1,20');
    is_s(stage(best('local row'), 'stage-1')->{input_s}, 8.02, 'a row with source local gives the speed');

    # A bucket without a region is at home for aws, and by the * row elsewhere.
    offers('aws,r1,,m1,4,16,,,,3.6,,', 'gcp,z1,,n1,4,16,,,,3.6,,');
    transfers('aws,*,internet,*,0.09,0,1,0', 'aws,r1,internet,*,0.5,0,1,0');
    pipeline('inputs: [{from: s3://bucket/x, size: 10}]', 'estimate: {seconds: 100}');
    my $p = best('bucket');
    is(stage($p, 'stage-1')->{cloud}, 'aws', 'read within its cloud');
    is_usd(stage($p, 'stage-1')->{transfer_usd}, 0, 'as from the same region');
    is_s(stage($p, 'stage-1')->{input_s}, 8, 'at the local rate');
    ok(scalar(grep { "$_->{what} $_->{value}" =~ /bucket/ } @{$p->{guessed}}), 'and listed as guessed');
    $p = best('bucket from afar', '--cloud', 'gcp');
    is_usd(stage($p, 'stage-1')->{transfer_usd}, 0.9, "at the cloud's * row for others");
    is_s(stage($p, 'stage-1')->{input_s}, 80, 'and its speed');

    # No row: impossible, even of nothing.
    transfers();
    for my $size (10, 0) {
        pipeline("inputs: [{from: s3://b/x, size: $size, place: aws/r9}]", 'estimate: {seconds: 100}');
        my ($code, $none) = answer();
        is($code, 5, "$size GB that cannot be moved: exit code 5");
        is($none->{status}, 'infeasible', "$size GB that cannot be moved: infeasible");
        is($none->{cheapest}, undef, "$size GB that cannot be moved: no plan at all");
    }
}

sub rows
{
    # The most specific row wins: source region, then destination cloud, then destination region,
    # then source cloud. The price of 1 GB from aws/us-a tells which row it was.
    my $from = 'inputs: [{from: s3://b/x, size: 1, place: aws/us-a}]';
    my @cases = (
        ['aws', 'us-b', 0.01, 'exact destination', 'aws,us-a,aws,us-b,0.01,0,1,0', 'aws,us-a,aws,us-*,0.02,0,1,0'],
        ['aws', 'us-b', 0.02, 'prefix before *', 'aws,us-a,aws,us-*,0.02,0,1,0', 'aws,us-a,aws,*,0.03,0,1,0'],
        ['aws', 'us-b', 0.04, 'longer prefix', 'aws,us-a,aws,u*,0.03,0,1,0', 'aws,us-a,aws,us-*,0.04,0,1,0'],
        ['aws', 'us-b', 0.05, 'source region before destination cloud', 'aws,us-a,*,*,0.05,0,1,0', 'aws,us-*,aws,us-b,0.06,0,1,0'],
        ['aws', 'us-b', 0.07, 'exact cloud before =', 'aws,us-a,aws,*,0.07,0,1,0', 'aws,us-a,=,us-b,0.08,0,1,0'],
        ['aws', 'us-b', 0.08, '= before *', 'aws,us-a,=,*,0.08,0,1,0', 'aws,us-a,*,us-b,0.09,0,1,0'],
        ['gcp', 'us-b', 0.10, 'exact cloud before internet', 'aws,us-a,gcp,*,0.1,0,1,0', 'aws,us-a,internet,us-b,0.11,0,1,0'],
        ['gcp', 'us-b', 0.11, 'internet before *', 'aws,us-a,internet,*,0.11,0,1,0', 'aws,us-a,*,us-b,0.12,0,1,0'],
        ['aws', 'us-b', 0.12, 'internet is not within a cloud', 'aws,us-a,internet,*,0.11,0,1,0', 'aws,*,*,*,0.12,0,1,0'],
        ['aws', 'us-b', 0.13, 'source cloud last', 'aws,us-a,aws,us-b,0.13,0,1,0', '*,us-a,aws,us-b,0.14,0,1,0'],
        ['gcp', 'us-a', 0.16, '= before * for regions', 'aws,us-a,gcp,=,0.16,0,1,0', 'aws,us-a,gcp,*,0.17,0,1,0'],
        ['gcp', 'us-a', 0.18, 'prefix before =', 'aws,us-a,gcp,us-*,0.18,0,1,0', 'aws,us-a,gcp,=,0.19,0,1,0'],
        ['aws', 'us-b', 0.15, 'empty is anything', 'aws,,aws,,0.15,0,1,0'],
    );

    pipeline($from, 'estimate: {seconds: 100}');
    for my $case (@cases) {
        my ($cloud, $region, $usd, $name, @rows) = @$case;
        offers("$cloud,$region,,m1,4,16,,,,3.6,,");
        for my $order ([@rows], [reverse @rows]) {
            transfers(@$order);
            my (undef, $p) = answer();
            is_usd(stage($p, 'stage-1')->{transfer_usd}, $usd, "rows: $name");
        }
    }
}

sub shared
{
    # a makes 10 GB at r1; b and c read them at r2: $0.02 a GB, 8 Gbit/s, no round trip.
    offers('aws,r1,,m1,4,16,,,,3.6,,', 'aws,r2,,m1,4,16,,,,3.6,,');
    transfers('aws,*,aws,*,0.02,0,8,0');
    my @pipeline = ('name: p', '---', 'name: a', 'outputs: {x: 10}', 'resources: {region: r1}',
        'estimate: {seconds: 100}', '---',
        map { ("name: $_", 'needs: [a]', 'inputs: [{from: a.x}]', 'resources: {region: r2}',
               'estimate: {seconds: 100}', '---') } qw(b c));
    pop @pipeline;
    pipeline(@pipeline);
    my $p = best('shared');
    is_usd(stage($p, 'b')->{transfer_usd}, 0.2, 'the first reader pays');
    is_usd(stage($p, 'c')->{transfer_usd}, 0, 'the second does not');
    is_s(stage($p, $_)->{input_s}, 10, "$_ waits for its input all the same") for qw(b c);
    is_s(stage($p, $_)->{start_s}, 160, "$_ starts when a has finished") for qw(b c);
    # a: 100 s; b and c: 110 s each; and 10 GB once.
    is_usd($p->{cost_usd}, 0.1 + 0.11 + 0.11 + 0.2, 'cost');
    is_s($p->{time_s}, 160 + 60 + 10 + 100, 'time: b and c side by side');

    # The same bucket read by two stages that do not need each other: paid once as well.
    pipeline('execution: parallel', 'name: p', '---',
        map { ("name: $_", 'inputs: [{from: s3://b/x, size: 10, place: aws/r1}]',
               'resources: {region: r2}', 'estimate: {seconds: 100}', $_ eq 'c' ? () : '---') }
        qw(b c));
    $p = best('shared bucket');
    is_usd($p->{cost_usd}, 0.11 + 0.11 + 0.2, 'a bucket read twice is paid for once');
    is_usd(stage($p, 'b')->{transfer_usd}, 0.2, 'by the first in the file');
    is_s($p->{time_s}, 170, 'both start at once');
}

sub keeping
{
    # 100 GB for 30 days of 24 h at $0.02 a month of 730 h: 100 x 0.02 x 720 / 730.
    offers($one);
    storage('aws,r1,standard,0.02,,,', 'aws,r1,cold,0.01,,,');
    pipeline('outputs: [{name: x, size: 100, keep: 30}]', 'estimate: {seconds: 100}');
    my $p = best('keep');
    is_usd(stage($p, 'stage-1')->{storage_usd}, 1.972603, 'kept for 30 days, class standard');
    is_usd($p->{cost_usd}, 2.072603, 'and part of the cost');
    pipeline('outputs: [{name: x, size: 100, keep: 730h}]', 'estimate: {seconds: 100}');
    is_usd(stage(best('a month'), 'stage-1')->{storage_usd}, 2, 'kept for 730 hours');
    pipeline('outputs: {x: 100}', 'estimate: {seconds: 100}');
    is_usd(stage(best('not kept'), 'stage-1')->{storage_usd}, 0, 'not kept: nothing');
    storage('aws,r1,warm,0.03,,,', 'aws,r1,cold,0.01,,,');
    pipeline('outputs: [{name: x, size: 100, keep: 730h}]', 'estimate: {seconds: 100}');
    is_usd(stage(best('no standard'), 'stage-1')->{storage_usd}, 1, 'the cheapest without a standard');
    storage();
    $p = best('no storage row');
    is_usd(stage($p, 'stage-1')->{storage_usd}, 0, 'no row: nothing');
    ok(scalar(grep { "$_->{what} $_->{why}" =~ /stor/ } @{$p->{guessed}}), 'listed as guessed');
}

sub sizes
{
    # 9x of 2 + 3 GB is 45 GB: 45 s at 8 Gbit/s.
    offers('aws,r1,,m1,4,16,,,,3.6,,', 'aws,r2,,m2,4,16,,,,3.6,,');
    transfers('aws,*,aws,*,0.02,0,8,0');
    pipeline('inputs:', '  - {from: p, size: 2, place: aws/r1}', '  - {from: q, size: 3, place: aws/r1}',
        'outputs: [{name: x, size: 9x}]', 'resources: {region: r1}', 'estimate: {seconds: 100}', '---',
        'resources: {region: r2}', 'estimate: {seconds: 100}');
    my $s = stage(best('nine times'), 'stage-2');
    is_s($s->{input_s}, 45, 'a stage reads the outputs of those it needs');
    is_usd($s->{transfer_usd}, 0.9, '45 GB at $0.02');
}

sub choices
{
    # The machine that is dearer and faster wins at home and loses when it waits for its input:
    # s: 3600 s at $1; f: 1700 s at $2. At home $1.00 and $0.944444.
    offers('aws,r1,,s,4,16,,,,1,,', 'aws,r1,,f,4,16,,,,2,,');
    transfers('aws,r0,aws,r1,0,0,1,0');
    pipeline('estimate: {seconds: {s: 3600, f: 1700}}');
    my $p = best('no input');
    is_usd($p->{cost_usd}, 0.944444, 'the fast machine is cheaper at home');
    # 450 GB at 1 Gbit/s are 3600 s: 7200 s at $1 are $2, 5300 s at $2 are $2.944444.
    pipeline('inputs: [{from: s3://b/x, size: 450, place: aws/r0}]', 'estimate: {seconds: {s: 3600, f: 1700}}');
    $p = best('far input');
    is(stage($p, 'stage-1')->{instance_type}, 's', 'the slow one when the input comes from afar');
    is_usd($p->{cost_usd}, 2, 'billed while reading');

    # a at r1 makes 100 GB. b costs $1.80 at r1 and $0.90 at r2; moving costs $1 at $0.01 a GB.
    offers('aws,r1,,m1,4,16,,,,3.6,,', 'aws,r2,,m2,4,16,,,,1.8,,');
    my @pipeline = ('name: a', 'outputs: {x: 100}', 'resources: {region: r1}', 'estimate: {seconds: 100}',
                    '---', 'name: b', 'estimate: {seconds: 1800}');
    pipeline(@pipeline);
    # b at r1: (80 + 1800) x 0.001 = $1.88; at r2: (100 + 1800) x 0.0005 + 1 = $1.95.
    transfers('aws,*,aws,*,0.01,0,8,0');
    is(stage(best('egress decides'), 'b')->{region}, 'r1', 'moving is too dear');
    # At $0.009: $0.95 + $0.90 = $1.85.
    transfers('aws,*,aws,*,0.009,0,8,0');
    is(stage(best('egress decides'), 'b')->{region}, 'r2', 'moving pays');
}

# An offer for a whole region is one for each of its zones, and a zone of another region is none.
sub zones
{
    offers('aws,us-east-1,,m1,4,16,,,,2,,', 'aws,us-west-2,,m1,4,16,,,,1,,', 'aws,eu-1,eu-1b,m1,4,16,,,,0.5,,');
    for (['{zone: us-east-1a}', 'us-east-1 us-east-1a'],
         ['{infra: aws/us-east-1/us-east-1a}', 'us-east-1 us-east-1a'],
         ['{infra: aws/us-east-1/use1-az6}', 'us-east-1 use1-az6'],
         ['{any_of: [{zone: us-east-1a}, {zone: us-west-2b}]}', 'us-west-2 us-west-2b'],
         ['{zone: eu-1b}', 'eu-1 eu-1b'], ['{region: us-west-2}', 'us-west-2 ']) {
        pipeline("resources: $_->[0]", 'estimate: {seconds: 100}');
        my $s = stage(best($_->[0]), 'stage-1');
        is("$s->{region} $s->{zone}", $_->[1], "the region and the zone of $_->[0]");
    }
    for ('{infra: aws/us-east-1/us-west-2a}', '{zone: eu-1a}') {
        pipeline("resources: $_", 'estimate: {seconds: 100}');
        my ($code, undef, $err) = run(qw(plan pipeline.yaml --catalog catalog));
        like("$code $err", qr/^2 .*has zone/, "no offer has $_");
    }
}

# What an estimate is for is no misspelling of itself.
sub covered
{
    offers('aws,r1,,m1,4,16,T4,1,,2,,', 'aws,r1,,m2,4,16,A100,1,,2,,');
    pipeline('resources: {accelerators: T4}', 'estimate: {hours: {A100: 4}}');
    my (undef, undef, $err) = run(qw(plan pipeline.yaml --catalog catalog));
    like($err, qr/\(it is for A100\); add/, 'an estimate for other offers');
    pipeline('resources: {accelerators: T4}', 'estimate: {hours: {A10: 4}}');
    (undef, undef, $err) = run(qw(plan pipeline.yaml --catalog catalog));
    like($err, qr/\(it is for A10; did you mean A100\?\)/, 'one with a misspelt name');
}

sub ties
{
    offers(map { "$_,,m1,4,16,,,,3.6,," } 'gcp,a', 'aws,b', 'aws,a');
    pipeline('estimate: {seconds: 100}');
    my $s = stage(best('equal offers'), 'stage-1');
    is("$s->{cloud}/$s->{region}", 'aws/a', 'the first by cloud and region');
    offers('aws,a,z2,m1,4,16,,,,3.6,,', 'aws,a,z1,m1,4,16,,,,3.6,,', 'aws,a,z3,m0,4,16,,,,3.6,,');
    $s = stage(best('equal offers'), 'stage-1');
    is("$s->{instance_type} $s->{zone}", 'm0 z3', 'then by type');
    offers('aws,a,z2,m1,4,16,,,,3.6,,', 'aws,a,z1,m1,4,16,,,,3.6,,');
    is(stage(best('equal offers'), 'stage-1')->{zone}, 'z1', 'then by zone');
    offers('aws,a,,m1,4,16,,,,3.6,3.6,0');
    is(stage(best('equal markets', '--market', 'any'), 'stage-1')->{market}, 'on-demand', 'by market');
    # $3.60 for 1000 s and $7.20 for 500 s cost $1 each.
    offers('aws,a,,m1,4,16,,,,3.6,,', 'aws,b,,m2,4,16,,,,7.2,,');
    pipeline('estimate: {seconds: {m1: 1000, m2: 500}}');
    is(stage(best('equal cost'), 'stage-1')->{instance_type}, 'm2', 'of equal cost the faster');
    offers('aws,a,,m1,4,16,,,,3.7,,', 'aws,b,,m2,4,16,,,,3.6,,');
    pipeline('estimate: {seconds: 1000}');
    is(stage(best('equal time', '--objective', 'time'), 'stage-1')->{instance_type}, 'm2',
       'of equal time the cheaper');
}

sub goals
{
    # slow: 1000 s at $0.001: $1.00, 1060 s. fast: 400 s at $0.004: $1.60, 460 s.
    # mid: 700 s at $0.0018: $1.26, 760 s.
    offers('aws,a,,slow,4,16,,,,3.6,,', 'aws,a,,fast,4,16,,,,14.4,,', 'aws,a,,mid,4,16,,,,6.48,,');
    pipeline('estimate: {seconds: {slow: 1000, fast: 400, mid: 700}}');
    my %want = (cost => 'slow', time => 'fast',
        # dollar-hours: 1.00 x 1060, 1.60 x 460 = 736, 1.26 x 760 = 957.6, each / 3600
        value => 'fast',
        # 0.5 h + 0.5 $: 0.647, 0.864, 0.736; 0.9 h + 0.1 $: 0.365, 0.275, 0.316
        'weighted:0.5' => 'slow', 'weighted:0.9' => 'fast', 'weighted:0' => 'slow', 'weighted:1' => 'fast');
    for my $objective (sort keys %want) {
        my $p = best($objective, '--objective', $objective);
        is(stage($p, 'stage-1')->{instance_type}, $want{$objective}, "$objective: $want{$objective}");
        is($p->{objective}, $objective, "$objective is named");
        is($p->{gap}, 0, "$objective: gap 0");
    }
    is_usd(best('value', '--objective', 'value')->{bound}, 1.6 * 460 / 3600, 'the bound is in dollar-hours');
    is_s(best('time', '--objective', 'time')->{bound}, 460, 'the bound is in seconds');
    is_usd(best('weighted', '--objective', 'weighted:0.5')->{bound}, 0.5 * 1060 / 3600 + 0.5,
           'the bound is in weighted units');

    is(stage(best('deadline', '--deadline', '760'), 'stage-1')->{instance_type}, 'mid',
       'a deadline is met by meeting it exactly');
    is(stage(best('deadline', '--deadline', '759.9s'), 'stage-1')->{instance_type}, 'fast',
       'and not by a tenth of a second more');
    is(stage(best('budget', '--budget', '1.26', '--objective', 'time'), 'stage-1')->{instance_type}, 'mid',
       'a budget is met by meeting it exactly');
    is(stage(best('budget', '--budget', '1.259999', '--objective', 'time'), 'stage-1')->{instance_type},
       'slow', 'and not by a micro-dollar more');
    # With the high end, 20 % more run: slow 1260 s, mid 900 s, fast 540 s.
    is(stage(best('risk', '--deadline', '900', '--risk', 'p95'), 'stage-1')->{instance_type}, 'mid',
       'the high end meets the deadline exactly');
    is(stage(best('risk', '--deadline', '899', '--risk', 'p95'), 'stage-1')->{instance_type}, 'fast',
       'the high end misses it by a second');

    my ($code, $none) = answer('--deadline', '460', '--budget', '1.5');
    is($code, 5, 'no plan within both: exit code 5');
    is($none->{status}, 'infeasible', 'status');
    ok(length $none->{reason}, 'a reason is given');
    is_usd($none->{cheapest}{cost_usd}, 1, 'the cheapest plan: its cost');
    is_s($none->{cheapest}{time_s}, 1060, 'and its time');
    is_usd($none->{fastest}{cost_usd}, 1.6, 'the fastest plan: its cost');
    is_s($none->{fastest}{time_s}, 460, 'and its time');
    like($none->{reason}, qr/budget|deadline/, 'the reason names what fails');
    (undef, $none) = answer('--deadline', '459');
    like($none->{reason}, qr/deadline/, 'a deadline that cannot be met is named');
    (undef, $none) = answer('--budget', '0.99');
    like($none->{reason}, qr/budget/, 'a budget that cannot be met is named');

    pipeline('name: head', 'objective: time', 'budget: 1.3', '---',
             'estimate: {seconds: {slow: 1000, fast: 400, mid: 700}}');
    my $p = best('header');
    is(stage($p, 'stage-1')->{instance_type}, 'mid', 'the header has objective and budget');
    is($p->{pipeline}, 'head', 'and the name');
    is(stage(best('flags', '--budget', '2'), 'stage-1')->{instance_type}, 'fast', 'flags go before it');
    is(stage(best('flags', '--objective', 'cost'), 'stage-1')->{instance_type}, 'slow', 'each by itself');

    # The frontier of the three.
    pipeline('estimate: {seconds: {slow: 1000, fast: 400, mid: 700}}');
    (undef, $p) = answer('--pareto');
    is(join(' ', map { "$_->{stages}[0]{instance_type}:$_->{cost_usd}:$_->{time_s}" } @{$p->{pareto}}),
       'slow:1:1060 mid:1.26:760 fast:1.6:460', 'the frontier, cheapest first');
}

# quick takes 60 + 3400 s, at the high end 60 + 4080; sure takes 1060 + 2500 s, at the high end 1060 + 3000:
# the slower plan is the one for the earliest deadline.
sub risk
{
    offers('aws,r1,,quick,4,16,,,,1,,', 'gcp,z1,,sure,4,16,,,,1,,');
    config('plan: {boot_s: {aws: 60, gcp: 1060}}');
    my $estimate = 'estimate: {seconds: {quick: 3400, sure: 2500}}';
    my @diamond = ("defaults: {$estimate}", map { "---\nname: $_->[0]\nneeds: [$_->[1]]" }
                   ['a', ''], ['b', 'a'], ['c', 'a'], ['d', 'b, c']);
    for (['one stage', 4060, $estimate], ['three stages on a path of a diamond', 3 * 4060, @diamond]) {
        my ($name, $earliest_s, @text) = @$_;
        pipeline('name: p', @text);
        my ($code, $p) = answer('--budget', '10', '--deadline', $earliest_s - 1, '--risk', 'p95');
        is($code, 5, "$name: no plan is sure to end by then");
        is_s($p->{earliest_deadline_s}, $earliest_s, "$name: the earliest deadline at the high end");
        ($code) = answer('--budget', '10', '--deadline', $earliest_s, '--risk', 'p95');
        is($code, 0, "$name: that deadline does");
    }
    config();
}

sub limits
{
    offers('aws,r1,,small,2,4,,,,0.1,,', 'aws,r1,,big,8,32,,,,0.4,,', 'aws,r2,,gpu,8,32,V100,1,,2.5,0.8,',
           'gcp,z1,,n1,4,16,,,,0.2,,', 'gcp,z1,,gpus,32,128,V100,4,,9,,');
    my @cases = (
        ['cpus exactly', '{cpus: 8, region: r1}', 'big'],
        ['cpus at least', '{cpus: 3+}', 'n1'],
        ['cpus in a range', '{cpus: 5-8}', 'big'],
        ['memory at least', '{memory: 30+}', 'big'],
        ['memory with its unit', '{memory: 16GB}', 'n1'],
        ['an accelerator, whatever its case', '{accelerators: v100}', 'gpu'],
        ['four of it', '{accelerators: "V100:4"}', 'gpus'],
        ['as a map', '{accelerators: {V100: 4}}', 'gpus'],
        ['one of several', '{accelerators: [K80, V100]}', 'gpu'],
        ['an instance type', '{instance_type: big}', 'big'],
        ['infra', '{infra: gcp/z1}', 'n1'],
        ['infra with a colon', '{infra: "gcp:z1"}', 'n1'],
        ['any_of takes the cheapest', '{any_of: [{accelerators: V100}, {cpus: 8+}]}', 'big'],
        ['ordered takes the first', '{ordered: [{accelerators: K80}, {accelerators: V100}, {cpus: 8+}]}', 'gpu'],
        ['max_hourly_cost, inclusive', '{cpus: 4+, max_hourly_cost: 0.2}', 'n1'],
    );
    for my $case (@cases) {
        my ($name, $resources, $type) = @$case;
        pipeline("resources: $resources", 'estimate: {hours: 1}');
        is(stage(best($name), 'stage-1')->{instance_type}, $type, "resources: $name");
    }
    pipeline('resources: {cpus: 4+}', 'num_nodes: 4', 'estimate: {hours: 1}');
    is(stage(best('--max-hourly', '--max-hourly', '0.2'), 'stage-1')->{instance_type}, 'n1',
       '--max-hourly is per node');
    is(stage(best('--cloud', '--cloud', 'aws'), 'stage-1')->{instance_type}, 'big', '--cloud');
    is(stage(best('--region', '--region', 'r2'), 'stage-1')->{instance_type}, 'gpu', '--region');
    config('clouds: {gcp: {regions: [z9]}}');
    is(stage(best('configured regions'), 'stage-1')->{instance_type}, 'big', 'regions as configured');
    config();

    my @empty = (
        ['{accelerators: "V100:16"}', 'V100', 'nearest'],
        ['{accelerators: A100}', 'A100', ''],
        ['{cpus: 64+}', 'cpus', ''],
        ['{accelerators: V100, max_hourly_cost: 1}', 'at most $1 an hour', ''],
        ['{accelerators: V100, region: eu-west-9}', 'eu-west-9', ''],
    );
    for my $case (@empty) {
        my ($resources, @parts) = @$case;
        pipeline('name: s', "resources: $resources", 'estimate: {hours: 1}');
        my ($code, $out, $err) = Plan::run('plan', 'pipeline.yaml', '--catalog', 'catalog');
        is($code, 2, "$resources: nothing fits, exit code 2");
        like($err, qr/pipeline\.yaml:\d+/, "$resources: with file and line");
        like($err, qr/\Q$_\E/, "$resources: the message has $_") for grep { length } @parts;
        is($out, '', "$resources: nothing on stdout");
    }
    pipeline('resources: {cpus: 4+}', 'estimate: {hours: 1}');
    fails('--max-hourly that nothing meets', 5, 'at most $0.01 an hour', '--max-hourly', '0.01');
    fails('an unknown cloud', 2, 'awz', '--cloud', 'awz');
    fails('an unknown region', 2, 'r7', '--region', 'r7');
    offers('aws,r1,,m1,4,16,,,,,,');
    fails('a catalog without prices', 2, 'price');
}

billing();
guesses();
estimates();
spot();
markets();
inputs();
sources();
rows();
shared();
keeping();
sizes();
choices();
zones();
covered();
ties();
goals();
risk();
limits();
done_testing();
