// Calls the model of Azure's Resource Manager (tests/servers/arm) with Microsoft's own clients, and prints what
// they got, one line per check: NAME<TAB>VALUE.   usage: arm_client.mjs https://localhost:PORT
import {ComputeManagementClient} from '@azure/arm-compute';
import {ClientSecretCredential} from '@azure/identity';

const base = process.argv[2];
const subscription = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
const scope = 'https://management.azure.com/.default';
const say = (name, value) => console.log(`${name}\t${value}`);
const credential = secret => new ClientSecretCredential('11111111-2222-3333-4444-555555555555',
  '66666666-7777-8888-9999-000000000000', secret, {authorityHost: base, disableInstanceDiscovery: true});
const open = c => new ComputeManagementClient(c, subscription,
  {endpoint: base, credentialScopes: [scope], credentials: {scopes: [scope]}, retryOptions: {maxRetries: 0}});
const known = credential('model/secret+key');
const compute = open(known);

async function failure(promise) {
  try {
    await promise;
    return 'no failure';
  } catch (e) {
    return `${e.statusCode ?? ''} ${e.code ?? e.name}`;
  }
}
// What this client does not cover: groups and networks.
async function put(path, version, body) {
  const {token} = await known.getToken(scope);
  const answer = await fetch(`${base}/subscriptions/${subscription}${path}?api-version=${version}`, {
    method: 'PUT', headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json'},
    body: JSON.stringify(body)});
  return answer.status;
}

say('wrong secret', await failure(credential('wrong').getToken(scope)));
say('stranger', await failure(open({getToken: async () =>
  ({token: 'stolen', expiresOnTimestamp: Date.now() + 3600e3})}).virtualMachines.get('g', 'one')));
say('no group', await failure(compute.virtualMachines.get('g', 'one')));

const location = 'eastus', tags = {'broker-owner': 'me', 'broker-attempt': 'one'};
say('group', `${await put('/resourcegroups/g', '2021-04-01', {location, tags})} ` +
  await put('/resourcegroups/g', '2021-04-01', {location, tags}));
const network = '/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n';
const machine = (size = 'Standard_D4s_v5', more = {}) => ({
  location, tags, zones: ['1'], hardwareProfile: {vmSize: size},
  storageProfile: {imageReference: {publisher: 'Debian', offer: 'debian-12', sku: '12-gen2', version: 'latest'},
    osDisk: {createOption: 'FromImage', deleteOption: 'Delete', diskSizeGB: 50,
      managedDisk: {storageAccountType: 'StandardSSD_LRS'}}},
  osProfile: {computerName: 'one', adminUsername: 'azureuser', linuxConfiguration: {
    disablePasswordAuthentication: true,
    ssh: {publicKeys: [{path: '/home/azureuser/.ssh/authorized_keys', keyData: 'ssh-ed25519 AAAA me'}]}}},
  networkProfile: {networkApiVersion: '2020-11-01', networkInterfaceConfigurations: [{
    name: 'interface', tags, primary: true, deleteOption: 'Delete', ipConfigurations: [{
      name: 'ip', subnet: {id: `/subscriptions/${subscription}${network}/subnets/s`},
      publicIPAddressConfiguration: {name: 'address', tags, sku: {name: 'Standard'}, deleteOption: 'Delete',
        publicIPAllocationMethod: 'Static'}}]}]},
  ...more});
const spot = {priority: 'Spot', evictionPolicy: 'Delete', billingProfile: {maxPrice: -1}};
const create = (...what) => compute.virtualMachines.createOrUpdate('g', 'one', machine(...what),
  {updateIntervalInMs: 200});

say('no network', await failure(create()));
say('network', await put(network, '2023-09-01', {location, tags, properties: {
  addressSpace: {addressPrefixes: ['10.0.0.0/16']},
  subnets: [{name: 's', properties: {addressPrefix: '10.0.0.0/20'}}]}}));
say('eviction without spot', await failure(create('Standard_D4s_v5', {evictionPolicy: 'Delete'})));
say('no such zone', await failure(create('Standard_NC6s_v3', {zones: ['3']})));
const made = await create('Standard_D4s_v5', spot);
say('machine', [made.name, made.provisioningState, made.priority, made.tags['broker-attempt'], made.zones[0],
  made.storageProfile.osDisk.deleteOption].join(' '));
say('again', (await create('Standard_D4s_v5', spot)).vmId === made.vmId);
say('changed', await failure(create('Standard_B1s', spot)));
say('quota', await failure(compute.virtualMachines.createOrUpdate('g', 'two', machine())));
const view = await compute.virtualMachines.instanceView('g', 'one');
say('view', view.statuses.map(s => s.code).join(' '));
const expanded = await compute.virtualMachines.get('g', 'one', {expand: 'instanceView'});
say('expanded', expanded.instanceView.statuses.length);
async function all(pages) {
  const out = [];
  for await (const one of pages) out.push(one);
  return out;
}
const [disk] = await all(compute.disks.listByResourceGroup('g'));
say('disk', `${disk.diskState} ${disk.tags['broker-owner']}`);
say('disk in use', await failure(compute.disks.delete('g', disk.name)));
const sizes = await all(compute.resourceSkus.list({filter: "location eq 'eastus'"}));
const gpu = sizes.find(s => s.name === 'Standard_NC6s_v3');
say('size', `${gpu.resourceType} ${gpu.locationInfo[0].zones.sort()} ${gpu.capabilities[0].name}`);
const usages = await all(compute.usage.list(location));
say('usage', usages.filter(u => u.name.value === 'cores').map(u => `${u.currentValue} of ${u.limit}`));
await compute.virtualMachines.delete('g', 'one', {updateIntervalInMs: 200});
say('deleted', await failure(compute.virtualMachines.get('g', 'one')));
say('disks', (await all(compute.disks.listByResourceGroup('g'))).length);
