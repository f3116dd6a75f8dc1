package attempt

// signals are those of Linux that end a process, by number. The exit code of
// what one has ended is 128 plus the number; no engine tells it apart from a
// process that exits with such a code, as shells do for their children.
var signals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

// signalOf returns the signal behind an exit code, or "".
func signalOf(code int) string { return signals[code-128] }
