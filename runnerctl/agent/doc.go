// Package agent is the runner: it asks the hub for jobs, has an executor run
// them, keeps their leases, sends their logs and reports how they ended. One loop
// a file.
//
// # A job's way
//
//	lease.go     lease_job, held at the hub, for each slot that becomes free
//	keeper.go    the first heartbeat, before anything is done; then the lease is kept until the report is in
//	attempt.go   the spec is read, the executor runs it
//	observer.go  what it logs goes into the spool (logspool.go), from there to the hub (logqueue.go, upload.go)
//	artifacts.go what the job left goes to the hub, while the lease is held
//	finish.go    the report goes into the spool, synced to the disk; the log is sent, then the report
//	deliver.go   ... as often as it takes; then the spool forgets the attempt
//
// # What ends what
//
// A goroutine is started in the place named and has ended when that place says so.
//
//	goroutine            started by        ended by                                  waited for by
//	leaseLoop            Run's caller      Drain, Run's context, a fatal answer      Run
//	guard.run            run               run, when the attempts have ended         run
//	engine.run           run               run, when the attempts have ended         run
//	drainLoop            run               the same; or having cut the drain short   run
//	recoverEntry, each   recover           what it sends is sent; run's end          run
//	poll's watcher       poll              poll's return                             nobody: it has nothing to do then
//	attempt.run          start             see below                                 run
//	attempt.resume       adopt             see below                                 run
//	keeper.hold, .tell   holdLease         the report is in, or the lease is lost    attempt.run, attempt.resume
//	uploader.run         upload            the log is sent or refused; 10 s after    attempt.run, attempt.resume,
//	                                       the runner was told to end at once        recoverEntry
//	untilShutdown's      finish, upload    its cancel function; it waits 10 s once   nobody: it only cancels
//	                                       the runner was told to end at once
//
// An execution has one context, ended by whichever comes first:
//
//	cause                from                                          what is reported
//	cancelCause          a heartbeat's answer                          the executor's result, canceled
//	topology.ErrStale    a heartbeat's answer, the attempt's deadline  nothing
//	                     (by this machine's monotonic clock), unpaired
//	topology.ErrDraining Run's context, Config.DrainTimeout            release_job, unless it had finished
//	errSpoolFull         there is no room for the log                  failed, disk_full
//	any other error      the log cannot be written                     failed, internal
//
// # What may go wrong
//
// The hub is away: a job runs on, its log waits in the spool up to a limit, beyond which
// its middle gives way (logthin.go), heartbeats and the report are tried again until the
// attempt's deadline. The hub takes a lease away only after it has itself been in reach for a TTL, so a late heartbeat
// usually still renews it.
//
// This process dies: the system ends its file lock, and the next one takes up what it was killed under (adopt.go), sweeps the
// rest, sends what is in the spool, and reports an attempt that cannot be taken up as lost (recover.go).
//
// The machine sleeps: its monotonic clock stands still meanwhile, and the first heartbeat after it tells whether the
// lease is still held.
//
// The engine is away, or the machine's owner lets no jobs be taken now: none are asked for, the hub is told why (engine.go, guard.go).
package agent
