package logtext

// telling is what the three most telling lines of each recording are.
var telling = map[string][]string{
	"assert": {
		"as: as.c:2: main: Assertion `1==2' failed.",
		"bash: line 1: 21546 Aborted                 ./as",
	},
	"cargo-build": {
		"error[E0308]: mismatched types",
		"error[E0425]: cannot find function `y` in this scope",
		"error: could not compile `shop` (bin \"shop\") due to 2 previous errors",
	},
	"cargo-test": {
		"thread 'adds' (21763) panicked at src/main.rs:3:21:",
		"assertion `left == right` failed",
		"left: 2",
	},
	"docker-build": {
		"cat: can't open '/absent': No such file or directory",
		"The command '/bin/sh -c echo building && cat /absent' returned a non-zero code: 1",
	},
	"docker-run": {
		"docker: Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"pytset\": executable file not found in $PATH: unknown",
	},
	"gcc": {
		"a.c:3:45: error: ‘y’ undeclared (first use in this function)",
	},
	"go-race": {
		"WARNING: DATA RACE",
		"--- FAIL: TestRace (0.01s)",
		"FAIL\texample.org/shop/e\t0.117s",
	},
	"go-test": {
		"price_test.go:6: Total() = 119, want 120",
		"panic: assignment to entry in nil map [recovered, repanicked]",
		"c/c.go:3:37: undefined: c",
	},
	"go-timeout": {
		"panic: test timed out after 1s",
		"FAIL\texample.org/shop/d\t1.030s",
	},
	"java-throw": {
		"Exception in thread \"main\" java.lang.IllegalStateException: no total",
		"Caused by: java.lang.IndexOutOfBoundsException: Index: 3 Size: 1",
	},
	"javac": {
		"B.java:1: error: incompatible types: String cannot be converted to int",
		"B.java:1: error: cannot find symbol",
	},
	"junit4": {
		"1) adds(T)",
		"java.lang.AssertionError: expected:<3> but was:<2>",
		"FAILURES!!!",
	},
	"ld": {
		"b.c:(.text+0xa): undefined reference to `helper'",
		"collect2: error: ld returned 1 exit status",
	},
	"make": {
		"a.c:3:45: error: ‘y’ undeclared (first use in this function)",
		"make: *** [Makefile:2: all] Error 1",
	},
	"node-require": {
		"Error: Cannot find module 'shop'",
	},
	"node-test": {
		"not ok 1 - total",
		"2 !== 3",
	},
	"node-throw": {
		"TypeError: Cannot read properties of undefined (reading 'amount')",
	},
	"npm-test": {
		"TypeError: Cannot read properties of undefined (reading 'amount')",
	},
	"pytest": {
		"E   KeyError: 'price'",
		"E       AssertionError: 1 != 2",
		"E       AssertionError: assert 1 == 3",
	},
	"python-import": {
		"ModuleNotFoundError: No module named 'shop'",
	},
	"python-syntax": {
		"SyntaxError: invalid syntax",
	},
	"python-traceback": {
		"KeyError: 'price'",
	},
	"python-unittest": {
		"ERROR: test_key (test_prices.T.test_key)",
		"KeyError: 'price'",
		"AssertionError: 1 != 2",
	},
	"segv": {
		"bash: line 1: 21532 Segmentation fault      ./s",
	},
	"shell": {
		"bash: line 1: pytset: command not found",
		"bash: line 1: X: unbound variable",
		"sh: 1: Syntax error: Unterminated quoted string",
	},
	"usage": {
		"nc: invalid option -- 'k'",
	},
}
