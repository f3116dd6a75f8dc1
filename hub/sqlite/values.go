package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// stamp is a time as the schema has it: microseconds since 1970, NULL for the zero time.
type stamp time.Time

// Value implements driver.Valuer.
func (s stamp) Value() (driver.Value, error) {
	if t := time.Time(s); !t.IsZero() {
		return t.UnixMicro(), nil
	}
	return nil, nil
}

// Scan implements sql.Scanner.
func (s *stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s = stamp{}
	case int64:
		*s = stamp(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("sqlite: a time is %T", v)
	}
	return nil
}

// stored is t as it comes back: UTC, whole microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// at points a scan at a time.
func at(t *time.Time) *stamp { return (*stamp)(t) }

// list is a list of words as the schema has it: a JSON array.
func list[S ~string](words []S) string {
	if len(words) == 0 {
		return "[]"
	}
	b, err := json.Marshal(words)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(b)
}

// words points a scan at a list.
func words[S ~string](dest *[]S) sql.Scanner { return wordScanner[S]{dest} }

type wordScanner[S ~string] struct{ dest *[]S }

// Scan implements sql.Scanner.
func (w wordScanner[S]) Scan(v any) error {
	*w.dest = nil
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if v == "[]" {
			return nil
		}
		return json.Unmarshal([]byte(v), w.dest)
	}
	return fmt.Errorf("sqlite: a list is %T", v)
}

// detail is an event's detail as the schema has it: a JSON object, NULL for none.
func detail(m map[string]string) any {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(b)
}

// document is a value that the schema has as JSON, NULL for nil.
type document[T any] struct{ value **T }

// Value implements driver.Valuer.
func (d document[T]) Value() (driver.Value, error) {
	if *d.value == nil {
		return nil, nil
	}
	b, err := json.Marshal(*d.value)
	return string(b), err
}

// Scan implements sql.Scanner.
func (d document[T]) Scan(v any) error {
	*d.value = nil
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		*d.value = new(T)
		return json.Unmarshal([]byte(v), *d.value)
	}
	return fmt.Errorf("sqlite: a document is %T", v)
}

// orNull stores no bytes as NULL.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// orEmpty stores no bytes as an empty value, where the schema wants one.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// failureRow is the four columns of a failure; a NULL class means none.
type failureRow struct{ class, message, hint, container sql.NullString }

func (r *failureRow) dest() []any { return []any{&r.class, &r.message, &r.hint, &r.container} }

func (r *failureRow) take() *hub.Failure {
	if !r.class.Valid {
		return nil
	}
	return &hub.Failure{
		Class: hub.Class(r.class.String), Message: r.message.String, Hint: r.hint.String, Container: r.container.String,
	}
}

func failureArgs(f *hub.Failure) []any {
	if f == nil {
		return []any{nil, nil, nil, nil}
	}
	return []any{string(f.Class), f.Message, f.Hint, f.Container}
}
