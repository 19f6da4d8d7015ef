// Calls the model of Compute Engine (tests/servers/gce) with Google's own client, and prints what it got,
// one line per check: NAME<TAB>VALUE.   usage: gce_client.mjs http://127.0.0.1:PORT
import {createRequire} from 'node:module';
const require = createRequire(import.meta.url);
const compute = require('@google-cloud/compute');
// Of the version that the client itself uses: another package may bring an older one.
const beside = createRequire(createRequire(require.resolve('@google-cloud/compute')).resolve('google-gax'));
const {OAuth2Client, GoogleAuth} = beside('google-auth-library');

const base = new URL(process.argv[2]);
const project = 'model-project', zone = 'us-central1-a';
const say = (name, value) => console.log(`${name}\t${value}`);

const form = new URLSearchParams({grant_type: 'refresh_token', refresh_token: 'refresh-me'});
const {access_token} = await (await fetch(new URL('/token', base), {method: 'POST', body: form})).json();

function open(Client, token = access_token) {
  const authClient = new OAuth2Client();
  authClient.setCredentials({access_token: token, expiry_date: Date.now() + 3600e3});
  return new Client({fallback: true, protocol: 'http', apiEndpoint: base.hostname, port: Number(base.port),
    projectId: project, auth: new GoogleAuth({authClient})});
}
const instances = open(compute.InstancesClient);
const operations = open(compute.ZoneOperationsClient);
const disks = open(compute.DisksClient);
const firewalls = open(compute.FirewallsClient);

async function failure(promise) {
  try {
    await promise;
    return 'no failure';
  } catch (e) {
    return e.message.split('\n')[0];
  }
}
async function done(operation) {
  for (;;) {
    const [now] = await operations.wait({project, zone, operation});
    if (now.status === 'DONE') return now;
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}

say('stranger', await failure(open(compute.InstancesClient, 'stolen').get({project, zone, instance: 'a'})));
const labels = {'broker-owner': 'me', 'broker-attempt': 'one'};
const instanceResource = {
  name: 'one', machineType: `zones/${zone}/machineTypes/n1-standard-8`, labels,
  disks: [{boot: true, autoDelete: true, initializeParams: {diskSizeGb: '50', labels,
    sourceImage: 'projects/debian-cloud/global/images/family/debian-12'}}],
  networkInterfaces: [{network: 'global/networks/default',
    accessConfigs: [{type: 'ONE_TO_ONE_NAT', name: 'External NAT'}]}],
  guestAccelerators: [{acceleratorType: `zones/${zone}/acceleratorTypes/nvidia-tesla-t4`, acceleratorCount: 1}],
  scheduling: {provisioningModel: 'SPOT', instanceTerminationAction: 'DELETE', onHostMaintenance: 'TERMINATE',
    automaticRestart: false},
};
const requestId = '6fa459ea-ee8a-4ca4-894e-db77e160355e';
const insert = (resource, id) => instances.insert({project, zone, instanceResource: resource, requestId: id});

say('live migration', await failure(insert({...instanceResource, scheduling: {}}, undefined)));
const [{latestResponse: begun}] = await insert(instanceResource, requestId);
say('operation', `${begun.operationType} ${begun.status}`);
const [{latestResponse: again}] = await insert(instanceResource, requestId);
say('same request', again.name === begun.name);
say('same name', await failure(insert(instanceResource, 'aaaaaaaa-ee8a-4ca4-894e-db77e160355e')));
say('no uuid', await failure(insert(instanceResource, 'one')));

const [got] = await instances.get({project, zone, instance: 'one'});
say('instance', [got.name, got.status, got.scheduling.provisioningModel, got.labels['broker-attempt'],
  got.machineType.split('/').pop(), got.guestAccelerators[0].acceleratorCount].join(' '));
const filter = '(labels.broker-owner = "me") (labels.broker-attempt = "one")';
const zones = [];
let warnings = 0;
for await (const [scope, part] of instances.aggregatedListAsync({project, filter, returnPartialSuccess: true})) {
  if (part.instances.length) zones.push(`${scope}:${part.instances.map(i => i.name)}`);
  else warnings += part.warning.code === 'NO_RESULTS_ON_PAGE';
}
say('found', `${zones.join(' ')} ${warnings}`);
const [disk] = (await disks.list({project, zone}))[0];
say('disk', `${disk.name} ${disk.sizeGb} ${disk.users.length}`);
say('disk in use', await failure(disks.delete({project, zone, disk: 'one'})));

const firewallResource = {name: 'rule', network: 'global/networks/default', direction: 'INGRESS',
  allowed: [{IPProtocol: 'tcp', ports: ['22']}], sourceRanges: ['192.0.2.1/32'], targetTags: ['rule']};
await firewalls.insert({project, firewallResource});
await firewalls.patch({project, firewall: 'rule', firewallResource: {sourceRanges: ['192.0.2.2/32']}});
const [rule] = await firewalls.get({project, firewall: 'rule'});
say('firewall', `${rule.sourceRanges} ${rule.allowed[0].ports} ${rule.targetTags}`);

const [{latestResponse: full}] = await insert({...instanceResource, name: 'full',
  machineType: `zones/${zone}/machineTypes/n1-standard-4`, guestAccelerators: []}, undefined);
const end = await done(full.name);
say('operation that fails', `${end.error.errors[0].code} ${end.httpErrorStatusCode}`);

const [{latestResponse: ending}] = await instances.delete({project, zone, instance: 'one'});
say('deleting', `${ending.operationType} ${(await instances.get({project, zone, instance: 'one'}))[0].status}`);
say('nothing', await failure(instances.get({project, zone, instance: 'two'})));
