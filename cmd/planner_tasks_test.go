package cmd_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

var updateAgents = flag.Bool("update-agents", false, "write the table of docs/agents.md again")

// errand is what a person asks of an agent: goals, each with a check of what the agent must have heard.
type errand struct {
	name  string
	given map[string]any
	goals []goal
	calls int // at most
	// before is a job that was there before, by its spec.
	before string
}

type goal struct {
	words string
	heard string // regular expression
}

const toolbox = "runnerhub/busybox:local"

// noise is what a test run writes before and after the lines that matter.
const noise = `i=0; while [ $i -lt 400 ]; do echo "ok   example.com/app/pkg$i 0.0${i}s"; i=$((i+1)); done; `

const failingTests = noise + `printf -- '--- FAIL: TestAdd (0.00s)\n    add_test.go:9: Add(1, 2) = 4, want 3\nFAIL\nFAIL\texample.com/app/add\t0.003s\n'; ` + noise + `exit 1`

func job(fields map[string]any) map[string]any {
	spec := map[string]any{"image": toolbox, "pull": "never"}
	for name, v := range fields {
		spec[name] = v
	}
	return spec
}

func steps(scripts ...string) []any {
	var out []any
	for i, s := range scripts {
		out = append(out, map[string]any{"name": fmt.Sprintf("step%d", i+1), "run": s})
	}
	return out
}

// addTest tests add.sh and leaves a report.
const addTest = `got=$(sh add.sh 1 2)
if [ "$got" != 3 ]; then
  echo "error: add 1 2 is $got, want 3" >&2
  echo "1 test failed" > report.txt
  exit 1
fi
echo "1 test passed" > report.txt
`

// tryAFix is the errand whose transcript the manual shows.
const tryAFix = "find out why tests fail, try a fix, show the report"

// errands are the twelve tasks. An agent without documentation does all of them.
func errands() []errand {
	return []errand{
		{
			name:  "run a job and see what it prints",
			given: map[string]any{"spec": job(map[string]any{"steps": steps("echo hello-$((40+2))")})},
			goals: []goal{{"run this job and wait for what it writes", `hello-42`}}, calls: 3,
		},
		{
			name:  "find out why tests fail",
			given: map[string]any{"spec": job(map[string]any{"steps": steps(failingTests)})},
			goals: []goal{{"run these tests as a job and find out why they fail", `add_test.go:9: Add\(1, 2\) = 4, want 3`}}, calls: 6,
		},
		{
			name: tryAFix,
			given: map[string]any{
				"spec": job(map[string]any{
					"source":    map[string]any{"files": map[string]any{"add.sh": "echo $(($1 - $2))\n", "test.sh": addTest}},
					"steps":     steps("sh test.sh"),
					"artifacts": []any{map[string]any{"name": "report", "path": "report.txt"}},
				}),
				"changes": map[string]any{"source": map[string]any{"patch": "--- a/add.sh\n+++ b/add.sh\n@@ -1 +1 @@\n-echo $(($1 - $2))\n+echo $(($1 + $2))\n"}},
			},
			goals: []goal{
				{"run these tests as a job and find out why they fail", `add 1 2 is -1, want 3`},
				{"run the job again with changes, to try a fix", `: succeeded`},
				{"read the artifact that it left", `1 test passed`},
			}, calls: 8,
		},
		{
			name: "see what tests came to",
			given: map[string]any{"spec": job(map[string]any{
				"steps":   steps(`echo '<testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y"><failure message="3, want 4"/></testcase></testsuite>' > junit.xml; exit 1`),
				"reports": map[string]any{"junit": []any{"junit.xml"}},
			})},
			goals: []goal{{"run these tests as a job and explain how many failed", `1 of 2 tests|1 passed, 1 failed`}}, calls: 4,
		},
		{
			name: "read a file that a job leaves",
			given: map[string]any{"spec": job(map[string]any{
				"steps": steps("mkdir out; echo all-good > out/report.txt"), "artifacts": []any{map[string]any{"name": "report", "path": "out/*.txt"}},
			})},
			goals: []goal{{"run this job", `: succeeded`}, {"read the artifact that it left", `all-good`}}, calls: 6,
		},
		{
			name:  "run on a machine whose name has a slip",
			given: map[string]any{"spec": job(map[string]any{"steps": steps("echo here-$((1+1))")}), "target": "bx"},
			goals: []goal{{"run this job on the machine", `here-2`}}, calls: 4,
		},
		{
			name:  "find out why a job does not start",
			given: map[string]any{"spec": job(map[string]any{"steps": steps("true"), "requires": []any{"gpu"}})},
			goals: []goal{{"run this job", `lacks the capability "gpu"`}, {"cancel the job", `: canceled`}}, calls: 4,
		},
		{
			name: "find the one of many that fails",
			given: map[string]any{
				"spec":   job(map[string]any{"steps": steps(`test "$SHARD" != 2 || { echo "error: shard $SHARD is broken"; exit 7; }`)}),
				"matrix": []any{shard("1"), shard("2"), shard("3")},
			},
			goals: []goal{{"submit a batch of jobs, one for each entry of the matrix", `3 succeeded|2 succeeded, 1 failed`}, {"explain the one that failed", `shard 2 is broken`}}, calls: 6,
		},
		{
			name:  "cancel a job",
			given: map[string]any{"spec": job(map[string]any{"command": []any{"sleep", "1000"}, "grace": "1s"})},
			goals: []goal{{"run this job", `job_`}, {"cancel the job", `: canceled|canceling`}}, calls: 4,
		},
		{
			name:  "put a spec right",
			given: map[string]any{"spec": map[string]any{"imgae": toolbox, "pull": "never", "timeout": 90, "steps": steps("echo right-$((2+3))")}},
			goals: []goal{{"run this job", `right-5`}}, calls: 6,
		},
		{
			name:   "read the log of an earlier job",
			before: "name: nightly\nimage: " + toolbox + "\npull: never\nsteps: [{name: a, run: echo built-$((6*7))}]\n",
			given:  map[string]any{"job_id": "nightly"},
			goals:  []goal{{"read the log of the job", `built-42`}}, calls: 3,
		},
		{
			name: "look into the container of a failed job",
			given: map[string]any{
				"spec":    job(map[string]any{"steps": steps("echo core-$((10+1)) > dump; exit 3"), "hold_on_failure": "5m"}),
				"command": []any{"cat", "dump"},
			},
			goals: []goal{{"run this job", `held`}, {"run a command in the container of the job", `core-11`}, {"let go of the held job", `exited with code 3`}}, calls: 7,
		},
	}
}

func shard(n string) map[string]any {
	return map[string]any{"name": "shard " + n, "env": map[string]any{"SHARD": n}}
}

// maxDebugTokens is what it may cost to find out why tests fail.
const maxDebugTokens = 8000

// TestAgentWithoutDocumentation plays the errands through `runnerctl mcp` against a real hub and a real runner, and holds the
// table of docs/agents.md: each takes no more calls, but for one more wait on a machine that is slow, and a quarter more tokens at most.
func TestAgentWithoutDocumentation(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.start()
	v.await(v.submit("image: " + toolbox + "\npull: never\ncommand: ['true']\n")) // the runner is there
	var table strings.Builder
	table.WriteString("| errand | calls | tokens | bytes |\n|---|---|---|---|\n")
	kept, document := keptCosts(t)
	transcript := ""
	for _, e := range errands() {
		t.Run(e.name, func(t *testing.T) {
			if e.before != "" {
				id := v.submit(e.before)
				v.await(id)
			}
			a := newAgent(t, v.hub.URL, v.hub.AdminKey(t), "2025-11-25")
			p := newPlanner(t, a.session, e.given)
			for _, g := range e.goals {
				fmt.Fprintf(&p.story, "%s%s.\n\n", strings.ToUpper(g.words[:1]), g.words[1:])
				p.reach(g.words, regexp.MustCompile(g.heard).MatchString)
			}
			if e.name == tryAFix {
				transcript = p.story.String()
			}
			a.leave()
			tokens, bytes := 0, 0
			for _, c := range p.calls {
				tokens += c.tokens
				bytes += c.bytes
			}
			if len(p.calls) > e.calls {
				t.Errorf("%d calls; %d may do", len(p.calls), e.calls)
			}
			if e.name == "find out why tests fail" && tokens > maxDebugTokens {
				t.Errorf("%d tokens; %d may do", tokens, maxDebugTokens)
			}
			if most := kept[e.name]; !*updateAgents && (len(p.calls) > most.calls+1 || tokens > most.tokens*5/4) {
				t.Errorf("%d calls and %d tokens; docs/agents.md says %d and %d. If there is a reason: go test ./cmd -run AgentWithoutDocumentation -update-agents",
					len(p.calls), tokens, most.calls, most.tokens)
			}
			fmt.Fprintf(&table, "| %s | %d | %d | %d |\n", e.name, len(p.calls), tokens, bytes)
		})
	}
	t.Logf("\n%s", table.String())
	v.stop() // waits for what the last errands have let go of
	v.wantNothingLeft(topology.Filter{Runner: v.runnerID()})
	if *updateAgents {
		document = between(document, "errands", table.String())
		document = between(document, "transcript", transcript)
		if err := os.WriteFile(agentsDoc, []byte(document), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// between replaces what stands in a document between two lines that name it.
func between(document, name, text string) string {
	before, rest, _ := strings.Cut(document, "<!-- "+name+":begin -->\n")
	_, after, _ := strings.Cut(rest, "<!-- "+name+":end -->")
	return before + "<!-- " + name + ":begin -->\n" + text + "<!-- " + name + ":end -->" + after
}

const agentsDoc = "../docs/agents.md"

type cost struct{ calls, tokens int }

var costRow = regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) \| (\d+) \| \d+ \|$`)

// keptCosts are the rows of the document's table.
func keptCosts(t *testing.T) (rows map[string]cost, document string) {
	t.Helper()
	data, err := os.ReadFile(agentsDoc)
	if err != nil {
		t.Fatal(err)
	}
	document = string(data)
	rows = map[string]cost{}
	for _, m := range costRow.FindAllStringSubmatch(document, -1) {
		calls, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		rows[m[1]] = cost{calls, tokens}
	}
	return rows, document
}
