package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/blobstore"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

// drainWithin bounds the end of a hub: requests in flight are cut off after it.
const drainWithin = 9 * time.Second

// Run serves until ctx ends, drains, and returns: nil when everything ended in order. It writes
// `runnerhub listening on URL` to out once it answers.
func Run(ctx context.Context, s Settings, out io.Writer, log *slog.Logger) error {
	return RunOn(ctx, s, openConfigured, out, log)
}

// RunOn is Run on a store that open makes, which is closed at the end. Benchmarks compare the same hub on several.
func RunOn(
	ctx context.Context, s Settings, open func(context.Context, Settings, *slog.Logger) (hub.Store, error), out io.Writer, log *slog.Logger,
) (err error) {
	if err := s.check(); err != nil {
		return usageError{err}
	}
	tuneGC()
	l, scheme, err := listen(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close() // http.Server has closed it by then, unless it never served
	store, err := open(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return fmt.Errorf("make the folder of --data: %w", err)
	}
	bucket, err := blobstore.Open(ctx, s.Blobs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()

	draining := make(chan struct{})
	jobs := dispatch.New(dispatch.Config{Store: store, Bucket: bucket, Policy: s.Policy, Logger: log})
	ids := identity.New(store, jobs.Now)
	roster := enroll.New(store, jobs.Now, s.Policy, draining)
	if err := bootstrap(ctx, ids, store, s.Data, out); err != nil {
		return err
	}
	proxies, err := s.proxies()
	if err != nil {
		return usageError{err}
	}
	services := api.Services{Jobs: jobs, Roster: roster, Accounts: ids}
	ops := api.Operations(services)
	srv := web.NewServer(web.New(web.Options{
		Operations: ops, Auth: ids, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Logs: jobs, Uploads: jobs, Sources: jobs, Files: jobs, Execs: jobs, Log: log,
		Ready: store.Ping, Drain: draining,
		PublicURL: s.PublicURL, AllowedHosts: s.AllowHosts, AllowedOrigins: s.AllowOrigins,
		TrustedProxies: proxies, TLS: scheme == "https",
	}), log)

	// The background's context outlives ctx: sweeps and wake-ups go on until the last request has been answered.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, background := errgroup.WithContext(background)
	g.Go(func() error { return jobs.Run(background) })
	g.Go(func() error { return forgetPairings(background, store, jobs, log) })
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		select {
		case <-ctx.Done():
			log.Info("draining", "because", context.Cause(ctx))
		case <-background.Done(): // another part has failed
		}
		close(draining)
		jobs.Drain()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
		defer cancel()
		err := srv.Shutdown(closing)
		stop()
		if errors.Is(err, context.DeadlineExceeded) {
			log.Warn("requests in flight were cut off", "after", drainWithin)
			return srv.Close()
		}
		return err
	})
	if _, err := fmt.Fprintf(out, "runnerhub listening on %s://%s\n", scheme, l.Addr()); err != nil {
		log.Warn("nobody reads standard output", "error", err)
	}
	log.Info("listening", "version", mcp.Version, "addr", l.Addr().String())
	err = g.Wait()
	log.Info("stopped")
	return err
}

// forgetPairings removes requests that expired an hour ago, so that strangers cannot fill the store. The hub that
// sweeps does it.
func forgetPairings(ctx context.Context, store hub.PairingStore, jobs *dispatch.Service, log *slog.Logger) error {
	t := time.NewTicker(10 * time.Minute)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if !jobs.Leads() {
			continue
		}
		if n, err := store.DeletePairings(ctx, jobs.Now().Add(-time.Hour)); err != nil {
			log.Warn("could not forget expired pairing requests", "error", err)
		} else if n > 0 {
			log.Debug("forgot expired pairing requests", "count", n)
		}
	}
}
