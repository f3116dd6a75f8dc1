package topology

import (
	"reflect"
	"strings"
	"sync"
)

// HasField says whether a job spec has a field of a name at its top.
func HasField(name string) bool { return topFields()[name] }

var topFields = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	spec := reflect.TypeFor[Spec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
})
