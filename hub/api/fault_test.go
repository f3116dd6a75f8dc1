package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// hubCodes reads the codes from the source, so that one that is added there and
// nowhere else is noticed.
func hubCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			s, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, s)
		}
		return true
	})
	return codes
}

func TestCodesOfDomainAndContractAreTheSame(t *testing.T) {
	t.Parallel()
	domain := hubCodes(t)
	var wire []string
	for _, c := range mcp.Codes() {
		wire = append(wire, string(c.Code))
	}
	slices.Sort(domain)
	slices.Sort(wire)
	if !slices.Equal(domain, wire) || len(domain) == 0 {
		t.Fatalf("hub has %v\nmcp has %v", domain, wire)
	}
	for _, c := range domain {
		f := api.Fault(&hub.Error{Code: hub.Code(c), Message: "m", Hint: "h"})
		if string(f.Code) != c {
			t.Errorf("%s becomes %s", c, f.Code)
		}
		if f.Retryable != f.Code.Info().Retryable {
			t.Errorf("%s: retryable is %v, the table says otherwise", c, f.Retryable)
		}
	}
}

func TestFaultKeepsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("submit: %w", &hub.Error{
		Code: hub.QueueFull, Message: "the queue is full", Hint: "wait", RetryAfter: 1500 * time.Millisecond,
		Details: map[string]any{"limit": 5}, Err: errors.New("secret cause"),
	})
	f := api.Fault(err)
	if f.Message != "the queue is full" || f.Hint != "wait" || f.RetryAfterMS != 1500 || !f.Retryable || f.Details["limit"] != 5 {
		t.Fatalf("got %+v", f)
	}
}

func TestUnknownErrorsAreHiddenAndLoggedUnderAnID(t *testing.T) {
	t.Parallel()
	const secret = "postgres://hub:hunter2@db/hub"
	for name, tc := range map[string]struct {
		report func(context.Context, *slog.Logger) *mcp.Error
		want   mcp.Code
	}{
		"any error": {func(ctx context.Context, l *slog.Logger) *mcp.Error {
			return api.Report(ctx, l, errors.New(secret))
		}, mcp.CodeInternal},
		"internal hub.Error": {func(ctx context.Context, l *slog.Logger) *mcp.Error {
			return api.Report(ctx, l, &hub.Error{Code: hub.Internal, Message: secret})
		}, mcp.CodeInternal},
		"panic": {func(ctx context.Context, l *slog.Logger) *mcp.Error {
			return api.Recovered(ctx, l, secret)
		}, mcp.CodeInternal},
		"cause of a known one": {func(ctx context.Context, l *slog.Logger) *mcp.Error {
			return api.Report(ctx, l, &hub.Error{Code: hub.Unavailable, Message: "the store is away", Err: errors.New(secret)})
		}, mcp.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			ctx := api.WithTrace(t.Context(), &api.Trace{RequestID: "req-42"})
			f := tc.report(ctx, slog.New(slog.NewTextHandler(&log, nil)))
			if f.Code != tc.want {
				t.Errorf("code %s, want %s", f.Code, tc.want)
			}
			if s := fmt.Sprintf("%+v", *f); strings.Contains(s, "hunter2") {
				t.Errorf("the caller sees %s", s)
			}
			if !strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "req-42") {
				t.Errorf("the log has %q", log.String())
			}
			if tc.want == mcp.CodeInternal && !strings.Contains(f.Message, "req-42") {
				t.Errorf("the caller is not told the id: %q", f.Message)
			}
		})
	}
}

func TestContextErrorsAreRetryable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.Canceled, fmt.Errorf("wait: %w", context.DeadlineExceeded)} {
		if f := api.Fault(err); f.Code != mcp.CodeUnavailable || !f.Retryable || f.Hint == "" {
			t.Errorf("%v becomes %+v", err, f)
		}
	}
	if f := api.Fault(hub.ErrConflict); f.Code != mcp.CodeConflict {
		t.Errorf("a conflict becomes %+v", f)
	}
	if api.Fault(nil) != nil {
		t.Error("no error becomes one")
	}
}
