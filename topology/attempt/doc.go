// Package attempt executes job specs on any topology.Engine: it pulls, plans,
// starts the topology, runs the command or the steps, stops them when told to,
// and has everything removed in the background.
//
// An Executor's goroutines: per attempt one for each log (pump.go), for each
// service (service.go), for the engine's pulse (watchdog.go), for its usage
// (usage.go) and, where there are such limits, for its disk (disk.go) and its silence (idle.go), all of which end before Run returns; and the
// executor's own, which Close ends: removals (reaper.go), the making of ready
// networks (pool.go), and pulls shared by attempts (pulls.go).
package attempt
