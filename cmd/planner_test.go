package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"
)

// A planner stands for a model: it has a goal in words, what its person gave it, and the tools. It has no documentation and knows
// nothing of Runner Hub. It takes its first tool by the words of the goal, and each next one from what the answer before
// says: a tool that is named there, a value that is offered instead of a wrong one. What programs wrote it does not
// take for instructions.
type planner struct {
	t       *testing.T
	session *sdk.ClientSession
	tools   map[string]plannerTool
	given   map[string]any // by its person: sent wherever a tool takes it
	learned map[string]any // from answers: sent where a tool needs it
	cursors map[string]any // of answers, by tool and job
	heard   strings.Builder
	story   strings.Builder // what was done, for a reader
	made    map[string]bool // calls, so that none is made twice
	calls   []plannerCall
}

type plannerTool struct {
	words    map[string]float64 // of its name, title and description, by weight
	required []string
	takes    map[string]bool
}

type plannerCall struct {
	bytes  int // of arguments and answer
	tokens int
}

// maxCalls ends a planner that has lost its way.
const maxCalls = 15

func newPlanner(t *testing.T, session *sdk.ClientSession, given map[string]any) *planner {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &planner{
		t: t, session: session, tools: map[string]plannerTool{}, given: maps.Clone(given),
		learned: map[string]any{}, cursors: map[string]any{}, made: map[string]bool{},
	}
	for _, tool := range list.Tools {
		raw, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		pt := plannerTool{words: map[string]float64{}, required: schema.Required, takes: map[string]bool{}}
		for name := range schema.Properties {
			pt.takes[name] = true
		}
		for text, weight := range map[string]float64{tool.Description: 1, tool.Title: 2, strings.ReplaceAll(tool.Name, "_", " "): 3} {
			for _, w := range wordsOf(text) {
				pt.words[w] = max(pt.words[w], weight)
			}
		}
		p.tools[tool.Name] = pt
	}
	return p
}

// reach works on a goal until the check holds for what was heard.
func (p *planner) reach(goal string, done func(heard string) bool) {
	p.t.Helper()
	next, args := p.byGoal(goal)
	for next != "" && len(p.calls) < maxCalls {
		answer := p.call(next, args)
		if done(p.heard.String()) {
			return
		}
		last, lastArgs := next, args
		next, args = p.byAnswer(last, lastArgs, answer)
		if next == "" {
			next, args = p.byGoal(goal)
		}
	}
	p.t.Fatalf("the goal %q was not reached by %d calls", goal, len(p.calls))
}

// byGoal takes the tool whose words are most like the goal's, of those that it can call and has not called.
func (p *planner) byGoal(goal string) (string, map[string]any) {
	in := map[string]int{} // how many tools know a word: one that all know says nothing
	for _, tool := range p.tools {
		for w := range tool.words {
			in[w]++
		}
	}
	best, most := "", 0.0
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		args, ok := p.arguments(name, nil)
		if !ok || p.made[signature(name, args)] {
			continue
		}
		score := 0.0
		for _, w := range slices.Compact(slices.Sorted(slices.Values(wordsOf(goal)))) {
			if n := in[w]; n > 0 {
				score += p.tools[name].words[w] * math.Log(float64(1+len(p.tools))/float64(n))
			}
		}
		if score > most {
			best, most = name, score
		}
	}
	if best == "" {
		return "", nil
	}
	args, _ := p.arguments(best, nil)
	return best, args
}

var (
	inlineValue   = regexp.MustCompile(`^[^.:;]*?\b([a-z_]+)=([a-z0-9_]+)`)
	inlineChanges = regexp.MustCompile(`^ and changes (\{.*?\})`)
)

// byAnswer takes what the hub itself said last: first what to send instead of something wrong, then the tools that it names, in their order.
func (p *planner) byAnswer(last string, args map[string]any, answer plannerAnswer) (string, map[string]any) {
	if answer.failed {
		if mended, ok := p.mend(last, answer.words); ok {
			if again, ok := p.arguments(mended, nil); ok && !p.made[signature(mended, again)] {
				return mended, again
			}
		}
	}
	named := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(p.tools)), "|") + `)\b`)
	for _, at := range named.FindAllStringIndex(answer.words, -1) {
		tool, rest := answer.words[at[0]:at[1]], answer.words[at[1]:]
		inline := map[string]any{}
		if m := inlineValue.FindStringSubmatch(rest); m != nil && p.tools[tool].takes[m[1]] {
			inline[m[1]] = literal(m[2])
		}
		if m := inlineChanges.FindStringSubmatch(rest); m != nil {
			inline["changes"] = json.RawMessage(m[1])
		}
		if call, ok := p.arguments(tool, inline); ok && !p.made[signature(tool, call)] {
			return tool, call
		}
	}
	return "", nil
}

func literal(word string) any {
	switch word {
	case "true":
		return true
	case "false":
		return false
	}
	return word
}

// arguments are what a tool takes of what is known; ok is false while something is not known that it needs.
func (p *planner) arguments(tool string, inline map[string]any) (args map[string]any, ok bool) {
	t := p.tools[tool]
	args = map[string]any{}
	for name := range t.takes {
		if v, ok := p.given[name]; ok {
			args[name] = v
		}
	}
	for _, name := range t.required {
		if _, ok := args[name]; ok {
			continue
		}
		v, ok := p.learned[name]
		if !ok {
			return nil, false
		}
		args[name] = v
	}
	if v, ok := p.cursors[tool+" "+p.about()]; ok && t.takes["cursor"] {
		args["cursor"] = v
	}
	if t.takes["wait_ms"] && tool != "submit_job" {
		args["wait_ms"] = 25000
	}
	for name, v := range inline {
		args[name] = v
	}
	return args, true
}

// about is the job that it is about.
func (p *planner) about() string { return fmt.Sprint(p.learned["job_id"]) }

func signature(tool string, args map[string]any) string {
	raw, err := json.Marshal(args) // keys are sorted
	if err != nil {
		panic(err)
	}
	return tool + " " + string(raw)
}

// plannerAnswer is an answer in the hub's own words, without what programs wrote.
type plannerAnswer struct {
	words  string
	failed bool
}

const untrustedMark = "What programs wrote follows"

var codec = func() tokenizer.Codec {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err)
	}
	return c
}()

func (p *planner) call(tool string, args map[string]any) plannerAnswer {
	p.t.Helper()
	p.made[signature(tool, args)] = true
	res, err := p.session.CallTool(p.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	var text strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text.WriteString(t.Text + "\n")
		}
	}
	asked, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		p.t.Fatal(err)
	}
	tokens := 0
	for _, part := range []string{tool, string(asked), text.String(), string(structured)} { // some clients show a model both forms
		n, err := codec.Count(part)
		if err != nil {
			p.t.Fatal(err)
		}
		tokens += n
	}
	p.calls = append(p.calls, plannerCall{len(asked) + text.Len() + len(structured), tokens})
	p.t.Logf("%s %s\n%s", tool, asked, text.String())
	p.tell(tool, args, text.String())
	fmt.Fprintf(&p.heard, "%s\n", text.String())
	p.learn(tool, structured)
	words, _, _ := strings.Cut(text.String(), untrustedMark)
	for name, id := range map[string]*regexp.Regexp{"job_id": anyJob, "batch_id": anyBatch, "exec_id": anyExec} {
		if m := id.FindString(words); m != "" { // what is named first is what it is about
			p.learned[name] = m
		}
	}
	return plannerAnswer{words, res.IsError}
}

// tell adds a call to the story.
func (p *planner) tell(tool string, args map[string]any, answer string) {
	var pretty bytes.Buffer
	enc := json.NewEncoder(&pretty)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(args); err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintf(&p.story, "`%s`\n\n```json\n%s```\n\n```text\n%s\n```\n\n", tool, pretty.String(), strings.TrimSpace(answer))
}

var (
	anyJob   = regexp.MustCompile(`\bjob_[0-9a-f-]{36}`)
	anyBatch = regexp.MustCompile(`\bbat_[0-9a-f-]{36}`)
	anyExec  = regexp.MustCompile(`\bexe_[0-9a-f-]{36}`)
)

// learn keeps values of the structured answer under their names, the first of each.
func (p *planner) learn(tool string, structured []byte) {
	var value any
	if json.Unmarshal(structured, &value) != nil {
		return
	}
	seen := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if text, ok := v[name].(string); ok && !seen[name] {
					seen[name] = true
					p.learned[name] = text
				}
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(value)
	if next, ok := p.learned["next_cursor"]; ok && seen["next_cursor"] {
		p.cursors[tool+" "+p.about()] = next
	}
}

var (
	didYouMean   = regexp.MustCompile(`did you mean "?([\w./-]+)"?\?`)
	unknownField = regexp.MustCompile(`([\w.\[\]]+): unknown field`)
	nearestLabel = regexp.MustCompile(`the nearest labels are ([\w-]+)`)
	writeInstead = regexp.MustCompile(`([\w.\[\]]+): [^:]*\nHint: write "([^"]+)"`)
	newestOfName = regexp.MustCompile(`the newest job of that name is (job_[0-9a-f-]+)`)
)

// mend changes what was given as the answer to a failed call says, and returns the tool to call then.
func (p *planner) mend(tool, words string) (string, bool) {
	spec, _ := p.given["spec"].(map[string]any)
	if m := newestOfName.FindStringSubmatch(words); m != nil {
		delete(p.given, "job_id")
		p.learned["job_id"] = m[1]
		return tool, true
	}
	if m := nearestLabel.FindStringSubmatch(words); m != nil {
		p.given["target"] = m[1]
		return tool, true
	}
	if m := didYouMean.FindStringSubmatch(words); m != nil {
		if _, ok := p.tools[m[1]]; ok {
			return m[1], true
		}
		if field := unknownField.FindStringSubmatch(words); field != nil && spec != nil {
			spec[m[1]] = spec[field[1]]
			delete(spec, field[1])
			return tool, true
		}
	}
	if m := writeInstead.FindStringSubmatch(words); m != nil && spec != nil {
		spec[m[1]] = m[2]
		return tool, true
	}
	return "", false
}

// wordsOf are a text's words in their stems, as far as it takes to tell that "fails" and "failed" are one.
func wordsOf(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		for _, end := range []string{"ing", "ed", "es", "s"} {
			if stem, ok := strings.CutSuffix(w, end); ok && len(stem) > 2 {
				w = stem
				break
			}
		}
		if len(w) > 2 && !slices.Contains(plainWords, w) {
			out = append(out, w)
		}
	}
	return out
}

// plainWords say nothing about a tool.
var plainWords = []string{"the", "and", "for", "this", "that", "with", "its", "one", "are", "has", "have", "what", "which", "when", "not", "all", "they"}
