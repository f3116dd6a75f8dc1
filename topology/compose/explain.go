package compose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
	"go.yaml.in/yaml/v4"

	"github.com/runnerhub/runnerhub/topology"
)

// slips looks in a file for what people get wrong most: fields of services that do not
// exist, and variables that are not set. own says that its variables are the job's.
func (s *scanner) slips(name string, doc *yaml.Node, own bool) {
	for _, root := range doc.Content {
		for _, services := range members(root, "services") {
			s.unknownFields(name, services)
		}
	}
	if own {
		s.unsetVariables(name, doc)
	}
}

// unknownFields notes the first field that no service has.
func (s *scanner) unknownFields(name string, services *yaml.Node) {
	if services.Kind != yaml.MappingNode || s.unknown != "" {
		return
	}
	var known []string
	for _, f := range topology.ComposeService() {
		known = append(known, f.Name)
	}
	for i := 0; i+1 < len(services.Content); i += 2 {
		service := services.Content[i+1]
		if service.Kind != yaml.MappingNode {
			continue
		}
		for k := 0; k < len(service.Content); k += 2 {
			key := service.Content[k]
			if slices.Contains(known, key.Value) || strings.HasPrefix(key.Value, "x-") || key.ShortTag() == "!!merge" {
				continue
			}
			s.unknown = fmt.Sprintf("%s: line %d: services.%s.%s: unknown field", name, key.Line, services.Content[i].Value, key.Value)
			if meant := topology.Nearest(key.Value, known); meant != "" {
				s.unknown += fmt.Sprintf("; did you mean %q?", meant)
			}
			return
		}
	}
}

// plainVariable is $NAME or ${NAME}, without a default, or a $ that another one escapes.
var plainVariable = regexp.MustCompile(`\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// unsetVariables notes the variables that are empty since the job's env has none of their names.
func (s *scanner) unsetVariables(file string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		for _, found := range plainVariable.FindAllStringSubmatch(n.Value, -1) {
			name := found[1] + found[2]
			if _, set := s.env[name]; name != "" && !set && !slices.Contains(s.unset[name], file) {
				s.unset[name] = append(s.unset[name], file)
			}
		}
	}
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 { // keys have no variables
			s.unsetVariables(file, child)
		}
	}
}

// quietly fills in variables without compose-go's words about unset ones, which go to
// the runner's own output: the job's log has ours.
func quietly(text string, mapping template.Mapping) (string, error) {
	return template.SubstituteWithOptions(text, mapping, template.WithoutLogging)
}

var undefined = regexp.MustCompile(`service "([^"]+)" depends on undefined service "([^"]+)"`)

// explained puts an error of compose-go's into words that say what to mend.
func (p *project) explained(err error, model object) error {
	text := err.Error()
	if strings.HasPrefix(text, "validating ") && p.unknown != "" {
		return fmt.Errorf("%s", p.unknown)
	}
	services, _ := model["services"].(object)
	if found := undefined.FindStringSubmatch(text); found != nil {
		if service, ok := services[found[2]].(object); ok {
			var profiles []string
			for _, profile := range list(service["profiles"]) {
				profiles = append(profiles, fmt.Sprint(profile))
			}
			return fmt.Errorf("the service %q depends on %q, whose profiles (%s) are not among the job's", found[1], found[2], strings.Join(profiles, ", "))
		}
	}
	return err
}
