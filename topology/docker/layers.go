package docker

import "github.com/runnerhub/runnerhub/topology"

// layerCount sums up the engine's messages about the layers of one pull.
type layerCount struct {
	layers map[string]*layer
}

type layer struct {
	done           bool
	current, total int64
}

func newLayerCount() *layerCount { return &layerCount{layers: map[string]*layer{}} }

// note takes in a message and says whether it tells anything about a layer.
func (c *layerCount) note(m pullMessage) bool {
	switch m.Status {
	case "Pulling fs layer", "Waiting", "Downloading", "Verifying Checksum", "Download complete",
		"Extracting", "Pull complete", "Already exists":
	default:
		return false // a word about the whole, or a layer's retry
	}
	l := c.layers[m.ID]
	if l == nil {
		l = &layer{}
		c.layers[m.ID] = l
	}
	switch m.Status {
	case "Downloading":
		l.current, l.total = m.ProgressDetail.Current, max(l.total, m.ProgressDetail.Total)
	case "Download complete", "Verifying Checksum", "Extracting":
		l.current = l.total
	case "Pull complete", "Already exists":
		l.current, l.done = l.total, true
	}
	return true
}

func (c *layerCount) progress() topology.PullProgress {
	p := topology.PullProgress{Layers: len(c.layers)}
	for _, l := range c.layers {
		if l.done {
			p.LayersDone++
		}
		p.Bytes += l.current
		p.TotalBytes += l.total
	}
	return p
}
