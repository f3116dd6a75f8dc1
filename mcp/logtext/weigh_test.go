package logtext

import "testing"

// Lines of tools that there is no recording of, and lines that only look like failures.
func TestWeigh(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Weight{
		"go: example.org/a@v1.2.3: unknown revision v1.2.3":                                Cause,
		"fatal error: all goroutines are asleep - deadlock!":                               Cause,
		"ERROR: No matching distribution found for shop==9":                                Cause,
		"src/app.ts:3:7 - error TS2322: Type 'string' is not assignable to type 'number'.": Cause,
		"src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.": Cause,
		"npm error code ENOENT":                      Cause,
		"npm ERR! Test failed.":                      Failure,
		"  ✕ adds (3 ms)":                            Failure,
		"[ERROR] /src/A.java:[3,9] ';' expected":     Cause,
		"[ERROR] BUILD FAILURE":                      Failure,
		"* What went wrong:":                         Cause,
		"> Task :test FAILED":                        Failure,
		"CMake Error at CMakeLists.txt:3 (project):": Cause,
		"==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x60":                Cause,
		"a.c:3:5: runtime error: signed integer overflow":                                   Cause,
		"make: *** No rule to make target 'shop'.  Stop.":                                   Cause,
		"#7 ERROR: process \"/bin/sh -c make\" did not complete successfully: exit code: 2": Cause,
		"curl: (6) Could not resolve host: shop.invalid":                                    Cause,
		"dd: error writing 'x': No space left on device":                                    Cause,
		"Killed": Cause,
		"time=2026-01-02T03:04:05Z level=error msg=\"no database\"":     Failure,
		"2026-01-02 03:04:05 UTC [7] FATAL:  role \"x\" does not exist": Failure,
		"12:01:02 ERROR could not connect":                              Failure,
		"0 errors, 0 warnings":                                          Nothing,
		"ok  \texample.org/shop/errors\t0.3s":                           Nothing,
		"=== RUN   TestErrorHandling":                                   Nothing,
		"--- PASS: TestFailure (0.00s)":                                 Nothing,
		"Compiling error-chain v0.12.4":                                 Nothing,
		"    at rest":                                                   Nothing,
		"":                                                              Nothing,
	} {
		if got := Weigh([]byte(line)); got != want {
			t.Errorf("%q weighs %d, want %d", line, got, want)
		}
	}
}
