package attempt

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/runnerhub/runnerhub/topology"
)

// What a report holds may be large; what the decoder holds of it must not be.
func TestReportsOfAnySize(t *testing.T) {
	log := strings.Repeat("<a b='", 1<<20)
	tests := map[string]struct {
		report  string
		unread  string // why, "" for whole
		passing int
	}{
		"a long log in CDATA":    {"<testsuite><testcase name='a'><system-out><![CDATA[" + log + "]]></system-out></testcase></testsuite>", "", 1},
		"a long comment":         {"<testsuite><!--" + log + "--><testcase name='a'/></testsuite>", "", 1},
		"a long text":            {"<testsuite>" + strings.Repeat("x", 1<<20) + "<testcase name='a'/></testsuite>", "", 1},
		"a > in a value":         {"<testsuite name='a>b'><testcase name=\"a'>\"/></testsuite>", "", 1},
		"depth without end":      {"<testsuite><testcase name='a'/>" + strings.Repeat("<a>", 10<<20), errTooDeep.Error(), 1},
		"attributes without end": {"<testsuite><testcase name='a'/><b " + strings.Repeat("a ", 15<<20), errLongTag.Error(), 1},
		"values without end":     {"<testsuite><testcase name='a'/><b " + strings.Repeat("a='' ", 6<<20), errLongTag.Error(), 1},
		"one endless value":      {"<testsuite><testcase name='a'/><b a='" + strings.Repeat(">", 20<<20), errLongTag.Error(), 1},
	}
	for name, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for how, in := range map[string]io.Reader{"at once": strings.NewReader(tt.report), "half by half": iotest.HalfReader(strings.NewReader(tt.report))} {
			j, said := &reports{}, ""
			j.read("r.xml", topology.ReportJUnit, in, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
			if j.tests.Passed != tt.passing || !strings.HasSuffix(said, tt.unread) || (said == "") != (tt.unread == "") {
				t.Errorf("%s, %s: %+v, %q", name, how, j.tests, said)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
			t.Errorf("%s: %d MiB were allocated", name, used>>20)
		}
	}
}
