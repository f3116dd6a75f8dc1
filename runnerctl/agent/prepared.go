package agent

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/runnerhub/runnerhub/topology"
)

// prepared says what an attempt's preparation came to, for the process that takes the
// attempt up: a source is fetched once, and its ticket is good for once.
type prepared struct {
	Tree    string            `json:"tree,omitempty"` // the source's, below the entry
	Timeout topology.Duration `json:"timeout"`        // what the preparation has left of it
}

// savePrepared notes that the job may run here, and that all is there that it starts with.
func (e *entry) savePrepared(work topology.Work) error {
	p := prepared{Timeout: work.Spec.Timeout}
	if work.Source != "" {
		tree, err := filepath.Rel(e.dir, work.Source)
		if err != nil {
			return err
		}
		p.Tree = tree
	}
	return e.save("prepared.json", p, false)
}

// prepared is what savePrepared noted, nil for nothing.
func (e *entry) prepared() *prepared {
	b, err := os.ReadFile(filepath.Join(e.dir, "prepared.json"))
	if err != nil {
		return nil
	}
	p := new(prepared)
	if json.Unmarshal(b, p) != nil || p.Tree != "" && !filepath.IsLocal(p.Tree) {
		return nil
	}
	return p
}

// apply makes work what it was for the earlier process.
func (p *prepared) apply(work topology.Work, e *entry) topology.Work {
	spec := *work.Spec
	spec.Timeout = p.Timeout
	work.Spec = &spec
	if p.Tree != "" {
		work.Source = filepath.Join(e.dir, p.Tree)
	}
	return work
}

// needsPreparing says whether a job starts with more than its spec.
func needsPreparing(spec []byte) bool {
	var s struct {
		Compose json.RawMessage `json:"compose"`
		Source  json.RawMessage `json:"source"`
	}
	return json.Unmarshal(spec, &s) != nil || len(s.Compose)+len(s.Source) > 0
}
