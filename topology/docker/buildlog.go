package docker

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/runnerhub/runnerhub/topology"
)

// buildLog turns an engine's report on a build into lines of a log.
type buildLog struct {
	out   topology.Output
	names map[string]string // of BuildKit's vertices that were logged, by digest
	// made are the images that the classic builder made meanwhile, short ids.
	made   []string
	cached bool // the image that comes is one that was there
	from   bool // the image that comes is the one that a stage begins with

	labels int  // given with the build: the classic builder makes a step of each, behind those of the file
	ours   bool // such a step is being told of
}

// traceID marks what BuildKit says, in protocol buffers.
const traceID = "moby.buildkit.trace"

// layerLine is how the classic builder tells of an image that a step came to.
var layerLine = regexp.MustCompile(`^ ---> ([0-9a-f]{12,64})$`)

func (l *buildLog) take(m buildMessage) {
	switch {
	case m.ID == traceID:
		var data []byte // JSON has it in base64
		if json.Unmarshal(m.Aux, &data) == nil {
			l.trace(data)
		}
	case m.Stream != "":
		l.classic(m.Stream)
		if text := l.theirs(m.Stream); text != "" {
			l.out(topology.Stdout, []byte(text))
		}
	}
}

// stepLine begins a step of the classic builder, and ownLine is all that it says of one that sets a label.
var (
	stepLine = regexp.MustCompile(`^Step (\d+)/(\d+) : `)
	ownLine  = regexp.MustCompile(`^( ---> .*|Removing intermediate container .*)?\n?$`)
)

// theirs is what the classic builder says of the steps of the job's own file, which it counts without ours.
func (l *buildLog) theirs(text string) string {
	at := stepLine.FindStringSubmatch(text)
	if at == nil {
		l.ours = l.ours && ownLine.MatchString(text)
		if l.ours {
			return ""
		}
		return text
	}
	step, err := strconv.Atoi(at[1])
	all, allErr := strconv.Atoi(at[2])
	if err != nil || allErr != nil {
		return text
	}
	rest := text[len(at[0]):]
	l.ours = step > all-l.labels && strings.HasPrefix(rest, "LABEL ")
	if l.ours {
		return ""
	}
	return fmt.Sprintf("Step %d/%d : %s", step, all-l.labels, rest)
}

// classic notes the images that the classic builder makes.
func (l *buildLog) classic(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch id := layerLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Step "):
			_, step, _ := strings.Cut(line, " : ")
			l.from, l.cached = strings.HasPrefix(strings.ToUpper(step), "FROM "), false
		case line == " ---> Using cache":
			l.cached = true
		case id != nil && !l.from && !l.cached:
			l.made = append(l.made, id[1])
		}
	}
}

// The fields of BuildKit's StatusResponse, Vertex and VertexLog that matter here.
const (
	statusVertex, statusLog                                          = 1, 3
	vertexDigest, vertexName, vertexCached, vertexStarted, vertexErr = 1, 3, 4, 5, 7
	logVertex, logStream, logText                                    = 1, 3, 4
)

// trace writes the steps of a build by BuildKit, as they begin, and what they say.
func (l *buildLog) trace(data []byte) {
	eachField(data, func(field protowire.Number, value []byte, _ uint64) {
		switch field {
		case statusVertex:
			l.vertex(value)
		case statusLog:
			stream, text := topology.Stdout, []byte(nil)
			eachField(value, func(field protowire.Number, value []byte, n uint64) {
				switch field {
				case logStream:
					if n == 2 {
						stream = topology.Stderr
					}
				case logText:
					text = value
				}
			})
			l.out(stream, text)
		}
	})
}

func (l *buildLog) vertex(data []byte) {
	var digest, name, failed string
	started, cached := false, false
	eachField(data, func(field protowire.Number, value []byte, n uint64) {
		switch field {
		case vertexDigest:
			digest = string(value)
		case vertexName:
			name = string(value)
		case vertexCached:
			cached = n != 0
		case vertexStarted:
			started = true
		case vertexErr:
			failed = string(value)
		}
	})
	if started && l.names[digest] == "" && name != "" {
		l.names[digest] = name
		if cached {
			name += " (cached)"
		}
		l.out(topology.Stdout, []byte(name+"\n"))
	}
	if failed != "" && l.names[digest+" failed"] == "" {
		l.names[digest+" failed"] = failed
		l.out(topology.Stderr, []byte(failed+"\n"))
	}
}

// eachField walks the fields of a message: value is of those of a length, n of numbers.
// It ends at what is not well formed.
func eachField(data []byte, visit func(field protowire.Number, value []byte, n uint64)) {
	for len(data) > 0 {
		field, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return
		}
		data = data[size:]
		var value []byte
		var n uint64
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(data)
		default:
			size = protowire.ConsumeFieldValue(field, kind, data)
		}
		if size < 0 {
			return
		}
		visit(field, value, n)
		data = data[size:]
	}
}
