package logtext

import (
	"bytes"
	"regexp"
)

// matcher knows one form of line. The words are a cheap question before the dear one: a line that has none of
// them cannot match.
type matcher struct {
	tool    string
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

func match(tool string, weight Weight, pattern string, words ...string) matcher {
	m := matcher{tool: tool, weight: weight, pattern: regexp.MustCompile(pattern)}
	for _, w := range words {
		m.words = append(m.words, []byte(w))
	}
	return m
}

// matchers are the forms that are known, tried on what the tools printed (testdata/recorded).
var matchers = []matcher{
	// Go: tests, panics, the compiler, the race detector.
	match("go", Cause, `^\s+\S+_test\.go:\d+: `, "_test.go:"),
	match("go", Cause, `^(panic|fatal error): `, "panic: ", "fatal error: "),
	match("go", Cause, `^WARNING: DATA RACE`, "DATA RACE"),
	match("go", Cause, `^(\./|\.\./|[\w-])\S*\.go:\d+(:\d+)?: `, ".go:"),
	match("go", Cause, `^go: .*(cannot|not found|no required module|unknown revision|requires|missing|invalid|errors parsing)`, "go: "),
	match("go", Failure, `^\s*--- FAIL: `, "--- FAIL: "),
	match("go", Failure, `^FAIL\t`, "FAIL\t"),
	match("go", Failure, `^exit status \d+$`, "exit status "),
	match("go", Place, `^\t\S+\.go:\d+( \+0x[0-9a-f]+)?$`, ".go:"),
	match("go", Place, `^\s+\S+\.go:\d+ \+0x[0-9a-f]+$`, ".go:"),

	// Python: tracebacks, unittest, pytest, pip.
	match("python", Cause, `^(E\s+)?([A-Za-z_]\w*\.)*[A-Z]\w*(Error|Exception|Interrupt|Exit|Warning|Iteration)(: |$)`, "Error", "Exception", "Interrupt", "Exit", "Iteration"),
	match("python", Cause, `^E  +\S`, "E  "),
	match("python", Cause, `^ERROR: (Could not|No matching|Cannot|Failed|Package)`, "ERROR: "),
	match("python", Failure, `^(FAIL|ERROR): \w+ \(`, "FAIL: ", "ERROR: "),
	match("python", Failure, `^(FAILED|ERROR) \S+`, "FAILED ", "ERROR "),
	match("python", Failure, `^FAILED \(`, "FAILED ("),
	match("python", Place, `^  File ".*", line \d+`, `File "`),
	match("python", Place, `^[^\s:]+\.py:\d+: `, ".py:"),
	match("python", Place, `^Traceback \(most recent call last\)`, "Traceback"),

	// Node: uncaught errors, its test runner and others (TAP), TypeScript, npm.
	match("node", Cause, `^(Uncaught )?([A-Z]\w*)?Error( \[\w+\])?: `, "Error"),
	match("node", Cause, `^\s+[A-Z]\w*Error( \[\w+\])?: `, "Error"),
	match("node", Cause, `^\S+\.[cm]?[jt]sx?(:\d+:\d+ - |\(\d+,\d+\): )error TS\d+: `, "error TS"),
	match("node", Cause, `^npm (ERR!|error) (code|missing script|Could not resolve|notarget|404)`, "npm "),
	match("node", Cause, `^\s+\S+ !==? \S+$`, " !="),
	match("node", Failure, `^\s*not ok \d+`, "not ok "),
	match("node", Failure, `^\s+[✕✖×●] \S`, "✕", "✖", "×", "●"),
	match("node", Failure, `^npm (ERR!|error) `, "npm "),
	match("node", Place, `^\s+at .*[(/ ][^ ]+:\d+:\d+\)?$`, " at "),
	match("node", Place, `^\S+\.[cm]?[jt]sx?:\d+$`, "js:", "ts:", "jsx:", "tsx:"),

	// Java: the compiler, exceptions, JUnit, Maven and Gradle.
	match("java", Cause, `^\S+\.(java|kt):\d+: error: `, ": error: "),
	match("java", Cause, `^(Exception in thread "[^"]*" |Caused by: )?([a-z]\w*\.)+[A-Z]\w*(\$\w+)?(Exception|Error|Failure)(: |$)`, "Exception", "Error", "Failure"),
	match("java", Cause, `^\[ERROR\] \S+\.(java|kt):\[\d+,\d+\] `, "[ERROR]"),
	match("java", Cause, `^\* What went wrong:`, "What went wrong"),
	match("java", Failure, `^\[ERROR\] `, "[ERROR]"),
	match("java", Failure, `^(FAILURES!!!|Tests run: \d+,  ?Failures: [1-9])`, "FAILURES!!!", "Tests run: "),
	match("java", Failure, `^\d+\) \w+\(`, ") "),
	match("java", Failure, `^(> Task \S+ FAILED|BUILD FAILED|FAILURE: Build failed)`, "FAIL"),
	match("java", Place, `^\tat [\w.$/@<>]+\(.*\)$`, "\tat "),

	// Rust: the compiler, panics, tests.
	match("rust", Cause, `^error(\[E\d+\])?: `, "error"),
	match("rust", Cause, `^thread '.*' (\(\d+\) )?panicked at `, "panicked at"),
	match("rust", Cause, `^assertion .*failed`, "assertion"),
	match("rust", Cause, `^ +(left|right): `, "left: ", "right: "),
	match("rust", Failure, `^error: could not compile `, "could not compile"),
	match("rust", Failure, `^test .* \.\.\. FAILED$`, "FAILED"),
	match("rust", Failure, `^test result: FAILED`, "test result"),
	match("rust", Place, `^ *--> \S+:\d+:\d+$`, "--> "),
	match("rust", Place, `^ +at .*\.rs:\d+:\d+$`, ".rs:"),

	// C: compilers, linkers, assertions, sanitizers, make.
	match("c", Cause, `^\S+:\d+(:\d+)?: (fatal )?error: `, "error: "),
	match("c", Cause, `undefined reference to|multiple definition of|cannot find -l`, "undefined reference", "multiple definition", "cannot find -l"),
	match("c", Cause, `: Assertion .* failed\.`, "Assertion"),
	match("c", Cause, `^==\d+==\s?ERROR: `, "ERROR: "),
	match("c", Cause, `runtime error: `, "runtime error: "),
	match("c", Cause, `^CMake Error`, "CMake Error"),
	match("c", Cause, `^make(\[\d+\])?: \*\*\* No rule to make target`, "No rule to make"),
	match("c", Failure, `^make(\[\d+\])?: \*\*\* `, "make"),
	match("c", Failure, `^collect2: error: `, "collect2"),

	// Docker: the engine, builds.
	match("docker", Cause, `Error response from daemon: `, "Error response from daemon"),
	match("docker", Cause, `^(ERROR|#\d+ ERROR): `, "ERROR: "),
	match("docker", Failure, `returned a non-zero code: \d+`, "non-zero code"),
	match("docker", Failure, `did not complete successfully: exit code: \d+`, "did not complete successfully"),

	// Shells and what they call.
	match("shell", Cause, `(invalid|unrecognized|unknown|illegal|unexpected) (option|argument|flag|command|subcommand)`,
		"nvalid ", "nrecognized ", "nknown ", "llegal ", "nexpected "),
	match("shell", Cause, `: (command )?not found$`, "not found"),
	match("shell", Cause, `: (unbound variable|parameter not set)`, "unbound variable", "parameter not set"),
	match("shell", Cause, `: (No such file or directory|Permission denied|Connection refused|No space left on device|Is a directory|Not a directory|Read-only file system|Operation not permitted)( |$|\))`,
		"No such file", "Permission denied", "Connection refused", "No space left", "s a directory", "ot a directory", "Read-only file", "Operation not"),
	match("shell", Cause, `^\S+: (line )?\d+: .*([Ss]yntax error|Bad substitution|bad substitution)`, "yntax error", "ad substitution"),
	match("shell", Cause, `(Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|Floating point exception)( \(core dumped\))?(\s|$)`,
		"Segmentation fault", "Aborted", "Killed", "Bus error", "Illegal instruction", "Floating point"),
	match("shell", Cause, `(Could not resolve host|Temporary failure in name resolution|no such host|Name or service not known|Connection timed out)`,
		"Could not resolve host", "name resolution", "no such host", "Name or service", "Connection timed out"),

	// Anything that says of itself that it is an error.
	match("any", Failure, `(?i)^\W*(\d[\dT:.,/ Z+-]*\W+)?(error|fatal|critical|failed|failure|panic)\b(.*[^-|\s])?$`,
		"error", "Error", "ERROR", "fatal", "Fatal", "FATAL", "ritical", "RITICAL", "ailed", "AILED", "ailure", "AILURE", "panic", "PANIC", "Panic"),
	match("any", Failure, `\b(level=error|level=fatal|"level":"(error|fatal)")`, "error", "fatal"),
}
