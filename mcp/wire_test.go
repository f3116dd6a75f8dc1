package mcp_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runnerhub/runnerhub/mcp"
)

// What was read from the wire says the same when it is written and read again: nothing of it is lost on the way from a
// runner to a hub and back, and no two fields share a name.
func FuzzWire(f *testing.F) {
	for _, seed := range []string{
		`{"request_id":"r","wait_ms":25000,"capabilities":["docker"],"protocol":1,"slots":2,"status":{"text":"\ud800","level":"ok"}}`,
		`{"job_id":"job_1","attempt":1,"lease_epoch":3,"lease_token":"t","result":{"status":"failed","exit_code":0,"failure":{"class":"script"},` +
			`"steps":[{"name":"a","started_at":"2026-03-01T12:00:00.5+01:00"}],"outputs":{"k":"v"}},"next_lease":{"request_id":"s"}}`,
		`{"spec":{"image":"<a>","n":1e400,"deep":[[{}]]},"target":"self","priority":-100,"idempotency_key":"k"}`,
		`{"spec":"image: busybox\n","next_lease":null,"capabilities":[],"result":null}`,
		`{"spec": null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip[mcp.LeaseJobArgs](t, data)
		roundTrip[mcp.SubmitJobResultArgs](t, data)
		roundTrip[mcp.SubmitJobArgs](t, data)
	})
}

func roundTrip[T any](t *testing.T, data []byte) {
	t.Helper()
	var first T
	if json.Unmarshal(data, &first) != nil {
		return
	}
	once := encoded(t, first)
	var second T
	if err := json.Unmarshal(once, &second); err != nil {
		t.Fatalf("%s is read, written as %s and then refused: %v", data, once, err)
	}
	if d := cmp.Diff(first, second, cmp.FilterPath(isNoJSON, cmpopts.EquateEmpty()), cmp.Comparer(sameJSON)); d != "" {
		t.Fatalf("%s is read otherwise when it was written as %s:\n%s", data, once, d)
	}
	if twice := encoded(t, second); !bytes.Equal(once, twice) {
		t.Fatalf("%s is written as %s and then as %s", data, once, twice)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", v, err)
	}
	return out
}

// isNoJSON leaves raw JSON to sameJSON, also where there is none.
func isNoJSON(p cmp.Path) bool { return p.Last().Type() != reflect.TypeFor[json.RawMessage]() }

// sameJSON compares values, however they are written. A missing one is written as null.
func sameJSON(a, b json.RawMessage) bool { return reflect.DeepEqual(valueOf(a), valueOf(b)) }

func valueOf(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // nothing is null
	return v
}
