package logtext

import (
	"bytes"
	"regexp"
)

// matcher knows one form of line. The words are a cheap question before the dear one: a line that has none of
// them cannot match.
type matcher struct {
	weight  Weight
	words   [][]byte
	pattern *regexp.Regexp
}

func (m *matcher) has(line []byte) bool {
	for _, w := range m.words {
		if bytes.Contains(line, w) {
			return true
		}
	}
	return false
}

func match(weight Weight, pattern string, words ...string) matcher {
	m := matcher{weight: weight, pattern: regexp.MustCompile(pattern)}
	for _, w := range words {
		m.words = append(m.words, []byte(w))
	}
	return m
}

// matchers are the forms that are known. Most are tried on what the tools printed (testdata/recorded); for those whose
// tools were not at hand a test has a line of each.
var matchers = []matcher{
	// Go: tests, panics, the compiler, the race detector.
	match(Cause, `^\s+\S+_test\.go:\d+: `, "_test.go:"),
	match(Cause, `^(panic|fatal error): `, "panic: ", "fatal error: "),
	match(Cause, `^WARNING: DATA RACE`, "DATA RACE"),
	match(Cause, `^(\./|\.\./|[\w-])\S*\.go:\d+(:\d+)?: `, ".go:"),
	match(Cause, `^go: .*(cannot|not found|no required module|unknown revision|requires|missing|invalid|errors parsing)`, "go: "),
	match(Failure, `^\s*--- FAIL: `, "--- FAIL: "),
	match(Failure, `^FAIL\t`, "FAIL\t"),
	match(Failure, `^exit status \d+$`, "exit status "),
	match(Place, `^\t\S+\.go:\d+( \+0x[0-9a-f]+)?$`, ".go:"),
	match(Place, `^\s+\S+\.go:\d+ \+0x[0-9a-f]+$`, ".go:"),

	// Python: tracebacks, unittest, pytest, pip.
	match(Cause, `^(E\s+)?([A-Za-z_]\w*\.)*[A-Z]\w*(Error|Exception|Interrupt|Exit|Warning|Iteration)(: |$)`, "Error", "Exception", "Interrupt", "Exit", "Iteration"),
	match(Cause, `^E  +\S`, "E  "),
	match(Cause, `^ERROR: (Could not|No matching|Cannot|Failed|Package)`, "ERROR: "),
	match(Failure, `^(FAIL|ERROR): \w+ \(`, "FAIL: ", "ERROR: "),
	match(Failure, `^(FAILED|ERROR) \S+`, "FAILED ", "ERROR "),
	match(Failure, `^FAILED \(`, "FAILED ("),
	match(Place, `^  File ".*", line \d+`, `File "`),
	match(Place, `^[^\s:]+\.py:\d+: `, ".py:"),
	match(Place, `^Traceback \(most recent call last\)`, "Traceback"),

	// Node: uncaught errors, its test runner and others (TAP), TypeScript, npm.
	match(Cause, `^(Uncaught )?([A-Z]\w*)?Error( \[\w+\])?: `, "Error"),
	match(Cause, `^\s+[A-Z]\w*Error( \[\w+\])?: `, "Error"),
	match(Cause, `^\S+\.[cm]?[jt]sx?(:\d+:\d+ - |\(\d+,\d+\): )error TS\d+: `, "error TS"),
	match(Cause, `^npm (ERR!|error) (code|missing script|Could not resolve|notarget|404)`, "npm "),
	match(Cause, `^\s+\S+ !==? \S+$`, " !="),
	match(Failure, `^\s*not ok \d+`, "not ok "),
	match(Failure, `^\s+[✕✖×●] \S`, "✕", "✖", "×", "●"),
	match(Failure, `^npm (ERR!|error) `, "npm "),
	match(Place, `^\s+at .*[(/ ][^ ]+:\d+:\d+\)?$`, " at "),
	match(Place, `^\S+\.[cm]?[jt]sx?:\d+$`, "js:", "ts:", "jsx:", "tsx:"),

	// Java: the compiler, exceptions, JUnit, Maven and Gradle.
	match(Cause, `^\S+\.(java|kt):\d+: error: `, ": error: "),
	match(Cause, `^(Exception in thread "[^"]*" |Caused by: )?([a-z]\w*\.)+[A-Z]\w*(\$\w+)?(Exception|Error|Failure)(: |$)`, "Exception", "Error", "Failure"),
	match(Cause, `^\[ERROR\] \S+\.(java|kt):\[\d+,\d+\] `, "[ERROR]"),
	match(Cause, `^\* What went wrong:`, "What went wrong"),
	match(Failure, `^\[ERROR\] `, "[ERROR]"),
	match(Failure, `^(FAILURES!!!|Tests run: \d+,  ?Failures: [1-9])`, "FAILURES!!!", "Tests run: "),
	match(Failure, `^\d+\) \w+\(`, ") "),
	match(Failure, `^(> Task \S+ FAILED|BUILD FAILED|FAILURE: Build failed)`, "FAIL"),
	match(Place, `^\tat [\w.$/@<>]+\(.*\)$`, "\tat "),

	// Rust: the compiler, panics, tests.
	match(Cause, `^error(\[E\d+\])?: `, "error"),
	match(Cause, `^thread '.*' (\(\d+\) )?panicked at `, "panicked at"),
	match(Cause, `^assertion .*failed`, "assertion"),
	match(Cause, `^ +(left|right): `, "left: ", "right: "),
	match(Failure, `^error: could not compile `, "could not compile"),
	match(Failure, `^test .* \.\.\. FAILED$`, "FAILED"),
	match(Failure, `^test result: FAILED`, "test result"),
	match(Place, `^ *--> \S+:\d+:\d+$`, "--> "),
	match(Place, `^ +at .*\.rs:\d+:\d+$`, ".rs:"),

	// C: compilers, linkers, assertions, sanitizers, make.
	match(Cause, `^\S+:\d+(:\d+)?: (fatal )?error: `, "error: "),
	match(Cause, `undefined reference to|multiple definition of|cannot find -l`, "undefined reference", "multiple definition", "cannot find -l"),
	match(Cause, `: Assertion .* failed\.`, "Assertion"),
	match(Cause, `^==\d+==\s?ERROR: `, "ERROR: "),
	match(Cause, `runtime error: `, "runtime error: "),
	match(Cause, `^CMake Error`, "CMake Error"),
	match(Cause, `^make(\[\d+\])?: \*\*\* No rule to make target`, "No rule to make"),
	match(Failure, `^make(\[\d+\])?: \*\*\* `, "make"),
	match(Failure, `^collect2: error: `, "collect2"),

	// Docker: the engine, builds.
	match(Cause, `Error response from daemon: `, "Error response from daemon"),
	match(Cause, `^(ERROR|#\d+ ERROR): `, "ERROR: "),
	match(Failure, `returned a non-zero code: \d+`, "non-zero code"),
	match(Failure, `did not complete successfully: exit code: \d+`, "did not complete successfully"),

	// Shells and what they call.
	match(Cause, `(invalid|unrecognized|unknown|illegal|unexpected) (option|argument|flag|command|subcommand)`,
		"nvalid ", "nrecognized ", "nknown ", "llegal ", "nexpected "),
	match(Cause, `: (command )?not found$`, "not found"),
	match(Cause, `: (unbound variable|parameter not set)`, "unbound variable", "parameter not set"),
	match(Cause, `: (No such file or directory|Permission denied|Connection refused|No space left on device|Is a directory|Not a directory|Read-only file system|Operation not permitted)( |$|\))`,
		"No such file", "Permission denied", "Connection refused", "No space left", "s a directory", "ot a directory", "Read-only file", "Operation not"),
	match(Cause, `^\S+: (line )?\d+: .*([Ss]yntax error|Bad substitution|bad substitution)`, "yntax error", "ad substitution"),
	match(Cause, `(Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|Floating point exception)( \(core dumped\))?(\s|$)`,
		"Segmentation fault", "Aborted", "Killed", "Bus error", "Illegal instruction", "Floating point"),
	match(Cause, `(Could not resolve host|Temporary failure in name resolution|no such host|Name or service not known|Connection timed out)`,
		"Could not resolve host", "name resolution", "no such host", "Name or service", "Connection timed out"),

	// PostgreSQL, the service that jobs have most often.
	match(Failure, `\b(ERROR|FATAL|PANIC):  \S`, "ERROR:  ", "FATAL:  ", "PANIC:  "),

	// Anything that says of itself that it is an error.
	match(Failure, `(?i)^\W*(\d[\dT:.,/ Z+-]*\W+)?(error|fatal|critical|failed|failure|panic)\b(.*[^-|\s])?$`,
		"error", "Error", "ERROR", "fatal", "Fatal", "FATAL", "ritical", "RITICAL", "ailed", "AILED", "ailure", "AILURE", "panic", "PANIC", "Panic"),
	match(Failure, `\b(level=error|level=fatal|"level":"(error|fatal)")`, "error", "fatal"),
}
