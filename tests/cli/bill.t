#!/usr/bin/env bash
# The bill of a month: it is the sum of the records of jobs and machines, and FOCUS 1.2 has the same sum.
# Costs and months are written into the records: amounts are by hand, not by a clock.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT

run bill
is "$code" 0 "a home without jobs has a bill"
contains "$out" "No job or machine of this month has a cost." "and it is empty"
is "$("$TRADEWIND" bill --focus | wc -l)" 1 "as FOCUS it is a header"
for month in 2026-13 2026-00 2026-1 26-11 2026-11-01 x '' '2026-11 '; do
    fails 2 "is not a month; give one as in 2026-11" bill --month "$month"
done
fails 2 "by" bill --by colour
fails 2 "leave --by out" bill --focus --by user

for i in 1 2 3 4 5; do "$TRADEWIND" job submit --wait -- true >/dev/null; done
"$TRADEWIND" broker --stop >/dev/null
# Job 1, 2: October; 3, 4, 5: November, 4 of run 7 on hosts; a machine that no job bills, two hours at 1.5 USD
# and 0.25 for data; and a simulated one, which costs nothing.
python3 - "$TRADEWIND_HOME" <<'END'
import calendar, sqlite3, sys
def ms(*t): return calendar.timegm(t + (0,) * (6 - len(t))) * 1000
c = sqlite3.connect(sys.argv[1] + '/lake.db')
for i, (end, cost, basis, run) in enumerate([
        (ms(2031, 10, 1), 1000000, 'unit prices', None), (ms(2031, 10, 31, 23, 59, 59), 2000000, 'unit prices', None),
        (ms(2031, 11, 1), 30000, 'unit prices', None), (ms(2031, 11, 15, 12), 400000, 'host price', 7),
        (ms(2031, 11, 30, 23, 59, 59), 5000, 'planned machine', 7)]):
    c.execute('UPDATE job SET finished = ?, started = ?, cost_microusd = ?, cost_basis = ?, run = ? WHERE id = ?',
              (end, end - 1800000, cost, basis, run, i + 1))
c.commit()
END
"$TRADEWIND" machines ls >/dev/null
python3 - "$TRADEWIND_HOME" <<'END'
import calendar, sqlite3, sys
c = sqlite3.connect(sys.argv[1] + '/machines.db')
end = calendar.timegm((2031, 11, 20, 8, 0, 0)) * 1000
names = [r[1] for r in c.execute('PRAGMA table_info(machine)')]
for world, token in (0, 'real'), (9, 'simulated'):
    row = dict.fromkeys(names, 0)
    row.update(dict.fromkeys('cloud reason id owner provider region zone instance_type accelerator exec_driver address root'.split(), ''))
    row.update(world=world, token=token, cloud='pool', state=5, provider='lab', region='r1', instance_type='big',
               price=1.5, launched=end - 7200000, asked=end - 7200000, ready=end - 7200000, ended=end,
               since=end, data_microusd=250000, cpus=8, memory_gb=32, spot=1)
    c.execute('INSERT INTO machine (%s) VALUES (%s)' % (','.join(names), ','.join('?' * len(names))), [row[n] for n in names])
c.commit()
END

month() { # MONTH EXPRESSION: of its bill as JSON
    "$TRADEWIND" bill --month "$1" --json "${@:3}" | json "$2"
}
is "$(month 2031-10 "d['jobs'], d['cost_usd'], d['measured_usd'], d['modelled_usd']")" "2 3.0 0.0 3.0" "October: a month ends at midnight of UTC"
is "$(month 2031-11 "d['jobs'], d['machines'], round(d['cost_usd'], 6), round(d['measured_usd'], 6), round(d['modelled_usd'], 6)")" \
    "3 1 3.685 3.65 0.035" "November: three jobs, and the machine that no job bills"
is "$(month 2031-11 "[(l['name'], l['jobs'], round(l['cost_usd'], 6)) for l in d['lines']]")" \
    "[('machines without a job', 0, 3.25), ('run 7', 2, 0.405), ('jobs without a run', 1, 0.03)]" "by run, the expensive first"
is "$(month 2031-11 "[(l['name'], round(l['cost_usd'], 6)) for l in d['lines']]" --by cloud)" \
    "[('lab', 3.25), ('local', 0.435)]" "by cloud"
is "$(month 2031-11 "[(l['name'], round(l['cost_usd'], 6)) for l in d['lines']]" --by project)" \
    "[('machines without a job', 3.25), ('default', 0.435)]" "by project"
is "$(month 2031-11 "[round(l['cost_usd'], 6) for l in d['lines']]" --by user)" "[3.25, 0.435]" "by user"
run bill --month 2031-11
contains "$out" "measured \$3.65: time on hosts and machines" "it says what was measured"
contains "$out" 'modelled $0.04: run time on this machine' "and what was modelled"
is "$("$TRADEWIND" bill --month 2031-11 --csv | head -n 1)" "name,jobs,machine_s,measured_usd,modelled_usd,cost_usd" "as CSV"

# ---- FOCUS 1.2 ----

"$TRADEWIND" bill --month 2031-11 --focus >focus.csv
python3 - >verdicts <<'END'
import csv, json, re
rows = list(csv.DictReader(open('focus.csv')))
mandatory = '''BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ListCost
PricingQuantity PricingUnit ProviderName PublisherName ServiceCategory ServiceName'''.split()
rest = '''AvailabilityZone BillingAccountType CapacityReservationId CapacityReservationStatus ChargeFrequency
CommitmentDiscountCategory CommitmentDiscountId CommitmentDiscountName CommitmentDiscountQuantity CommitmentDiscountStatus
CommitmentDiscountType CommitmentDiscountUnit ConsumedQuantity ConsumedUnit ContractedUnitPrice InvoiceId ListUnitPrice
PricingCategory PricingCurrency PricingCurrencyContractedUnitPrice PricingCurrencyEffectiveCost PricingCurrencyListUnitPrice
RegionId RegionName ResourceId ResourceName ResourceType ServiceSubcategory SkuId SkuMeter SkuPriceDetails SkuPriceId
SubAccountId SubAccountName SubAccountType Tags'''.split()
have = list(rows[0])
print(sorted(mandatory + rest) == sorted(c for c in have if not c.startswith('x_')), len(mandatory + rest))
print(all(r[c] for r in rows for c in mandatory if c != 'ChargeClass'), all(r['ChargeClass'] == '' for r in rows))
stamp = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$')
print(all(stamp.match(r[c]) for r in rows for c in have if 'Period' in c),
      all(r['ChargePeriodStart'] < r['ChargePeriodEnd'] for r in rows))
print({(r['BillingPeriodStart'], r['BillingPeriodEnd'], r['BillingCurrency'], r['ChargeCategory'], r['ChargeFrequency'],
        r['ServiceCategory']) for r in rows})
print(len(rows), [round(sum(float(r[c]) for r in rows), 6) for c in ('BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost')])
print(all(re.fullmatch(r'\d+\.\d+', r[c]) for r in rows for c in have if c.endswith(('Cost', 'UnitPrice', 'PricingQuantity', 'ConsumedQuantity'))))
print(all(abs(float(r['ListUnitPrice']) * float(r['PricingQuantity']) - float(r['ListCost'])) < 1e-5 for r in rows))
print([(r['ProviderName'], r['ResourceType'], r['PricingCategory'], r['x_CostBasis'], r['x_Run']) for r in rows])
print(all(isinstance(json.loads(r['Tags']), dict) and isinstance(json.loads(r['SkuPriceDetails']), dict) for r in rows))
END
is "$(<verdicts)" "True 57
True True
True True
{('2031-11-01T00:00:00Z', '2031-12-01T00:00:00Z', 'USD', 'Usage', 'Usage-Based', 'Compute')}
4 [3.685, 3.685, 3.685, 3.685]
True
True
[('this machine', 'Job', 'Standard', 'modelled', ''), ('this machine', 'Job', 'Standard', 'measured', '7'), ('this machine', 'Job', 'Standard', 'modelled', '7'), ('lab', 'Machine', 'Dynamic', 'measured', '')]
True" "every column of FOCUS 1.2, values of its formats, and the sum of the bill"
is "$("$TRADEWIND" bill --month 2031-11 --focus --json | json 'len(d)')" 4 "as JSON, too"

# ---- the current month is what the spending cap counts ----

"$TRADEWIND" job submit --wait -- true >/dev/null
spent=$("$TRADEWIND" job show 6 --json | json "d['cost_usd']")
is "$("$TRADEWIND" bill --json | json "d['jobs'], abs(d['cost_usd'] - $spent) < 1e-9")" "1 True" "a job that ended now"
done_testing
