/* SPDX-License-Identifier: BSD-2-Clause */
/* The conditions of the figures: engine, options, machine, and the command to repeat them. */
const survives = {
	none: 'kill -9 may lose writes', process: 'writes survive kill -9, not power loss',
	periodic: 'power loss may take the last sync interval', commit: 'writes survive power loss'
};

function engineFacts(result) {
	const engine = result.engine;
	return facts('Engine', [['Engine', `${engine.name} ${engine.version}`],
		['Licence, build', `${engine.licence || 'not known'}, ${engine.build || 'not known'}`],
		['From', engine.path],
		['Durability', result.durability + (result.is_auto_durability ? ', by default' : '') +
			` (${survives[result.durability] || ''})`],
		['Cache', known('bytes', result.cache_bytes) || 'the engine\'s default'], ['Threads', result.threads],
		['Servers', (result.servers || []).join(', ')],
		['Server settings', (result.server_settings || []).join('; ')],
		...engine.options.map(option => [option.name, option.value]),
		['Stream digest', result.digest], ['mininb', result.mininb]]);
}

function counterTable(result) {
	const counters = result.measured.counters;
	return counters.length === 0 ? null : table('What the engine counted, until it was settled',
		['name', 'value#', 'unit', 'kind'], counters.map(it => [it.name, it.has_run_back ? 'ran backwards'
			: String(it.value), it.unit, it.kind === 'gauge' ? 'level' : 'growth']));
}

function processorFacts(result) {
	const it = result.environment, system = result.sysinfo, clock = result.clock;
	return [['Processor', it.cpu], ['CPUs', `${system.cpus} of ${system.machine_cpus} may be used`],
		['Sockets, NUMA nodes, threads a core', it.sockets > 0
			? `${it.sockets}, ${it.numa_nodes}, ${it.threads_per_core}` : ''],
		['Clock rate', it.cpu_mhz_max > 0 ? `${Math.round(it.cpu_mhz_max)} MHz at most` : ''],
		['Governor', it.governor], ['Turbo', it.turbo], ['Last cache', known('bytes', it.last_level_cache_bytes)],
		['Load before', it.load_1m.toFixed(2)],
		['Clock', `${clock.kind}, ${(clock.tick_hz / 1e6).toFixed(3)} MHz, in steps of ` +
			`${Number(clock.step_ns.toPrecision(2))} ns, ${clock.read_ns.toFixed(1)} ns a stamp`],
		['Clock of the kernel', it.clock_source]];
}

function storageFacts(result) {
	const it = result.environment;
	return [['Database', it.directory], ['File system', `${result.sysinfo.filesystem} on ` +
		`${it.mount_source || 'a device not known'} at ${it.mount || 'a place not known'}`],
	['Mount options', it.mount_options],
	['Device', [it.device, it.device_model, it.is_rotational ? 'rotating' : ''].filter(text => text).join(', ')],
	['I/O scheduler', it.scheduler], ['File system\'s size', known('bytes', it.filesystem_bytes)],
	['Free there', known('bytes', it.free_bytes)]];
}

function machineFacts(result) {
	const it = result.environment;
	return facts('Machine and environment', [['Begun', it.begun], ['Host', it.host], ['System', it.system],
		['Kernel', it.kernel], ['Hypervisor', result.sysinfo.hypervisor], ['Container', it.container],
		...processorFacts(result), ['Memory', known('bytes', result.sysinfo.memory_bytes)],
		['Memory free before', known('bytes', it.available_bytes)], ['Swap', known('bytes', it.swap_bytes)],
		['Transparent huge pages', it.huge_pages], ...storageFacts(result), ['Allocator', it.allocator],
		['LD_PRELOAD', it.preload],
		['mininb was built by', [it.compiler, it.build].filter(text => text).join(', ')],
		['Revision', it.revision], ['Libraries', it.libraries]]);
}

function conditionsPart(result) {
	return folded('Engine, options and machine', () => el('div.facts', engineFacts(result), counterTable(result),
		machineFacts(result)));
}

/* ---- the command ---- */

function shellWord(word) {
	return /^[\w\-./=:,+@%]+$/.test(word) ? word : `'${word.replace(/'/g, '\'\\\'\'')}'`;
}

function typed(command) {
	return [el('h3', 'Command'), el('pre', el('code', command.directory !== null
		? `cd ${shellWord(command.directory)}\n` : '', ['mininb', ...command.words.map(shellWord)].join(' ')))];
}

function commandSection() {
	const command = file.command;
	return section('again', 'How to repeat it', el('p', 'The result file of this page contains all of it; ',
		el('code', 'mininb rerun FILE'), ' repeats the run.'),
	command.action === null ? null : typed(command),
	command.options.length === 0 ? null : folded('All options, defaults included', () =>
		facts('Options', command.options.map(option => [option.name, option.value]))),
	command.job === null ? null : folded('Job file', () => el('pre', el('code', command.job))));
}
