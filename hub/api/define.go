package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// Type is a Go type of the wire contract.
type Type = reflect.Type

// define completes an operation by its types: schemas are made once, here, and
// a mistake in the table is a panic at start rather than an error in a call.
// run is the use case; say is one line on its result for a reader who sees no more.
func define[In, Out any](o Operation, run func(context.Context, hub.Principal, In) (Out, error), say func(Out) string) Operation {
	o.in, o.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	var err error
	if o.Input, err = inputSchema(o.in, o.limits); err != nil {
		panic(fmt.Sprintf("api: arguments of %s: %v", o.Name, err))
	}
	if o.Audience == Runner {
		// A runner may be of a newer release than its hub. What it tells beyond what the hub knows is left out: to refuse the
		// whole report for it would have the job run again.
		every(o.Input, open)
	}
	if o.Output, err = outputSchema(o.out); err != nil {
		panic(fmt.Sprintf("api: result of %s: %v", o.Name, err))
	}
	input := o.Input
	o.call = func(ctx context.Context, p hub.Principal, args json.RawMessage) (any, string, error) {
		in, err := decode[In](input, args)
		if err != nil {
			return nil, "", err
		}
		out, err := run(ctx, p, in)
		if err != nil {
			return nil, "", err
		}
		return out, say(out), nil
	}
	return o
}

// leading adds the resources that a result leads to.
func leading[Out any](o Operation, links func(Out) []mcp.Resource) Operation {
	o.links = func(value any) []mcp.Resource { return links(value.(Out)) }
	return o
}

// none is the arguments of an operation that has none.
type none struct{}
