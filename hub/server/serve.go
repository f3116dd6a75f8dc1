package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func newServe(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve people, agents and runners until SIGTERM",
		Long: "serve prints one line `runnerhub listening on http://HOST:PORT` once it answers. The first SIGTERM or SIGINT drains: held calls\n" +
			"are answered at once, requests in flight finish, and the hub exits within 10 s. A second one ends it at once.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := configured(c, &s, environ); err != nil {
				return err
			}
			log, err := newLogger(c.ErrOrStderr(), s)
			if err != nil {
				return usageError{err}
			}
			ctx, stop := untilSignal(c.Context(), func() { os.Exit(1) })
			defer stop()
			return Run(ctx, s, c.OutOrStdout(), log)
		},
	}
	s.storeFlags(c.Flags())
	s.serveFlags(c.Flags())
	return c
}

// untilSignal returns a context that ends with the first stop signal; the second calls now.
func untilSignal(parent context.Context, now func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	got := make(chan os.Signal, 2)
	signal.Notify(got, stopSignals()...)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-got:
			cancel(fmt.Errorf("got %s", sig))
		case <-done:
			return
		}
		select {
		case <-got:
			now()
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(done)
		cancel(nil)
	}
}
