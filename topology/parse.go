package topology

// The limits of a spec's text. A text over one of them is refused with code
// too_large before memory in proportion to its content is spent.
const (
	// MaxSpecBytes is the size of a spec, as written and in its canonical form.
	MaxSpecBytes = 1 << 20
	// MaxSpecNodes counts values and keys after aliases are expanded.
	MaxSpecNodes = 10_000
	// MaxSpecDepth is how deep lists and mappings nest.
	MaxSpecDepth = 32
	// MaxServices and MaxSteps bound the parts of one job.
	MaxServices = 32
	MaxSteps    = 100
)

// Parse reads a job spec, YAML or JSON, and returns it validated and
// normalised: defaults that need no hub are filled in, lists of words are
// sorted, commands are split, sizes are bytes. What the hub decides (timeout,
// attempts) stays zero.
//
// It is strict. The error is always a *SpecError with every mistake that was
// found, each with its line and column. Nothing is fetched, executed or
// interpolated: ${NAME} stays as it is written.
func Parse(data []byte) (*Spec, error) {
	root, problem := readTree(data)
	if problem != nil {
		return nil, newSpecError(*problem)
	}
	spec, problems := decode(root)
	if len(problems) > 0 {
		return nil, newSpecError(problems...)
	}
	return spec, nil
}

// decode makes a spec of a tree, or says all that is wrong with it.
func decode(root *node) (*Spec, []Problem) {
	d := &decoder{}
	spec := d.job(value{node: root, key: root})
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	// What the hub accepts the runner must be able to read: the canonical form
	// can be larger than the text (escapes, split commands, expanded aliases).
	canonical, err := spec.Canonical()
	if err != nil {
		return nil, []Problem{{Code: ProblemInvalid, Message: err.Error()}}
	}
	if _, problem := readTree(canonical); problem != nil {
		problem.Line, problem.Column = 0, 0
		problem.Message += " once it is written out in full"
		return nil, []Problem{*problem}
	}
	return spec, nil
}

// readTree turns text into a tree of nodes. JSON has a reader of its own: it is
// how the hub hands specs to runners, and encoding/json reads it exactly.
func readTree(data []byte) (*node, *Problem) {
	if len(data) > MaxSpecBytes {
		return nil, &Problem{
			Code:    ProblemTooLarge,
			Message: "the spec is larger than 1 MiB",
			Hint:    "keep files and data out of it",
		}
	}
	data, problem := checkText(data)
	if problem != nil {
		return nil, problem
	}
	if isJSONObject(data) {
		return readJSON(data)
	}
	if problem := checkYAML(data); problem != nil {
		return nil, problem
	}
	return readYAML(data)
}
