package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/runnerhub/runnerhub/hub"
)

// A statement that writes many operations at once takes each of their fields as one array: unnest makes rows
// of them again. A field is its column's name and type, and how the array is made.
type field[T any] struct {
	name, sqlType string
	array         func(ops []T) any
}

// of makes a field of what get takes from an operation.
func of[T, V any](name, sqlType string, get func(op T) V) field[T] {
	return field[T]{name, sqlType, func(ops []T) any {
		column := make(pgtype.FlatArray[V], len(ops))
		for i, op := range ops {
			column[i] = get(op)
		}
		return column
	}}
}

// rowsOf is the part of a statement that turns the arrays into rows, numbered from 1 by n.
func rowsOf[T any](fields []field[T]) string {
	arrays, names := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, f.sqlType)
		names[i] = f.name
	}
	return "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS u(" + strings.Join(names, ", ") + ", n)"
}

// argsOf are the statement's parameters.
func argsOf[T any](fields []field[T], ops []T) []any {
	args := make([]any, len(fields))
	for i, f := range fields {
		args[i] = f.array(ops)
	}
	return args
}

// eventFields are the columns of an event, for statements that write one with each operation.
func eventFields[T any](event func(op T) hub.Event) []field[T] {
	word := func(name string, get func(hub.Event) string) field[T] {
		return of(name, "text", func(op T) string { return text(get(event(op))) })
	}
	return []field[T]{
		of("at", "timestamptz", func(op T) stamp { return stamp(event(op).Time) }),
		word("actor", func(e hub.Event) string { return e.Actor }),
		word("on_behalf_of", func(e hub.Event) string { return e.OnBehalfOf }),
		word("action", func(e hub.Event) string { return string(e.Action) }),
		word("address", func(e hub.Event) string { return e.Address }),
		word("event_owner", func(e hub.Event) string { return string(e.Owner) }),
		word("event_workspace", func(e hub.Event) string { return e.WorkspaceID }),
		word("event_job", func(e hub.Event) string { return e.JobID }),
		of("event_attempt", "int", func(op T) int32 { return int32(event(op).Attempt) }),
		word("event_runner", func(e hub.Event) string { return e.RunnerID }),
		of("detail", "text", func(op T) *string { return optional(string(detail(event(op).Detail))) }),
	}
}

// failureFields are the four columns of a failure, all NULL for none.
func failureFields[T any](prefix string, failure func(op T) *hub.Failure) []field[T] {
	word := func(name string, get func(*hub.Failure) string) field[T] {
		return of(prefix+name, "text", func(op T) *string {
			f := failure(op)
			if f == nil {
				return nil
			}
			s := text(get(f))
			return &s
		})
	}
	return []field[T]{
		word("class", func(f *hub.Failure) string { return string(f.Class) }),
		word("message", func(f *hub.Failure) string { return f.Message }),
		word("hint", func(f *hub.Failure) string { return f.Hint }),
		word("container", func(f *hub.Failure) string { return f.Container }),
	}
}

// optional is NULL for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// listLiteral writes a list as PostgreSQL reads a text[]: an array of arrays would have to be rectangular.
func listLiteral[S ~string](list []S) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		for _, r := range text(s) {
			if r == '"' || r == '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
