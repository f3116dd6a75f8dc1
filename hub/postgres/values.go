package postgres

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/runnerhub/runnerhub/hub"
)

// stamp is a time whose zero is NULL.
type stamp time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (s *stamp) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s = stamp{}
	if v.Valid {
		*s = stamp(v.Time)
	}
	return nil
}

// TimestamptzValue implements pgtype.TimestamptzValuer.
func (s stamp) TimestamptzValue() (pgtype.Timestamptz, error) {
	t := time.Time(s)
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}, nil
}

// stored is t as the database gives it back: UTC, whole microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}

// text is s as the database takes it. A runner's words may hold anything, and a
// zero byte in them must not keep its result out of the store for ever.
func text[S ~string](s S) string {
	if strings.IndexByte(string(s), 0) < 0 && utf8.ValidString(string(s)) {
		return string(s)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD")
}

// texts is a list for a column that holds no NULL.
func texts[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// orNil makes an empty list what it was before it was stored.
func orNil[S ~string](list []string) []S {
	if len(list) == 0 {
		return nil
	}
	out := make([]S, len(list))
	for i, s := range list {
		out[i] = S(s)
	}
	return out
}

// failureRow is the four columns of a failure; a NULL class means none.
type failureRow struct{ class, message, hint, container *string }

func (r *failureRow) dest() []any { return []any{&r.class, &r.message, &r.hint, &r.container} }

func (r *failureRow) take() *hub.Failure {
	if r.class == nil {
		return nil
	}
	word := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return &hub.Failure{
		Class: hub.Class(*r.class), Message: word(r.message), Hint: word(r.hint), Container: word(r.container),
	}
}

// document is a value that the schema has as JSON, NULL for nil.
func document[T any](v *T) *string {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers, times and words cannot fail
	}
	s := string(b)
	return &s
}

// undocumented reads a document; what no version of ours has written is as good as nothing.
func undocumented[T any](b []byte) *T {
	v := new(T)
	if len(b) == 0 || json.Unmarshal(b, v) != nil {
		return nil
	}
	return v
}
