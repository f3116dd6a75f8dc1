//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// skewOf is how far a runner's calendar is ahead: an hour for every eighth one.
func (w *world) skewOf(i int) time.Duration {
	if w.o.skewed && i%8 == 0 {
		return time.Hour
	}
	return 0
}

// pairRunners pairs all runners and the saboteur as a person does, and prepares their processes.
func (w *world) pairRunners(ctx context.Context) {
	w.Helper()
	if err := os.MkdirAll(w.path("ledgers"), 0o700); err != nil {
		w.Fatal(err)
	}
	for i := range w.o.runners {
		name := fmt.Sprintf("runner-%02d", i+1)
		w.pair(ctx, name)
		skew := w.skewOf(i)
		cfg := w.path(name + ".json")
		w.writeJSON(cfg, runnerConfig{
			Hub: w.url(), RunnerID: w.ids[name], Token: w.tokens[name], Spool: w.path("spools", name),
			Ledger: w.ledgerOf(name), Slots: w.o.slots, Skew: skew,
		})
		w.runners = append(w.runners, newProcess(w, name, upRunner, func() *exec.Cmd {
			cmd := w.program("runner", w.o.runnerProgram, cfg)
			if cmd.Env == nil {
				cmd.Env = os.Environ()
			}
			cmd.Env = append(cmd.Env, "GOMAXPROCS=2")
			if skew > 0 {
				cmd.Env = append(cmd.Env, "CHAOS_CLOCK_SKEW="+strconv.Itoa(int(skew.Seconds())))
			}
			return cmd
		}))
	}
	own := w.pair(ctx, "saboteur")
	tokens, names := map[string]string{}, map[string]string{}
	for name, token := range w.tokens {
		if name != "saboteur" {
			tokens[name], names[w.ids[name]] = token, name
		}
	}
	cfg := w.path("saboteur.json")
	w.writeJSON(cfg, saboteurConfig{
		Hub: w.url(), Seed: w.o.seed, Key: w.key, Token: own, Ledgers: w.path("ledgers"), Tokens: tokens, Names: names,
		Ledger: w.ledgerOf("saboteur"), Every: 200 * time.Millisecond,
	})
	w.saboteur = newProcess(w, "saboteur", upSaboteur, func() *exec.Cmd { return w.program("saboteur", w.o.runnerProgram, cfg) })
}

func (w *world) ledgerOf(name string) string { return w.path("ledgers", name+".jsonl") }

// pair makes a runner of the admin's and returns its token.
func (w *world) pair(ctx context.Context, name string) string {
	w.Helper()
	invited, err := w.people.PairRunner(ctx, mcp.PairRunnerArgs{Label: name})
	if err != nil {
		w.Fatal(err)
	}
	public, private := pairing.NewKey()
	done, err := w.people.RedeemPairing(ctx, mcp.RedeemPairingArgs{
		PairingToken: invited.PairingToken, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(invited.PairingToken)),
		Machine: mcp.Machine{Hostname: name, OS: "linux", Arch: "amd64"},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.tokens[name], w.ids[name] = done.Token, done.Runner.ID
	return done.Token
}

func (w *world) startRunners() {
	for _, r := range w.runners {
		r.start()
	}
	w.saboteur.start()
}

// unsent lists what the runners have not brought to the hub yet.
func (w *world) unsent() []string {
	left, err := filepath.Glob(w.path("spools", "*", "attempts", "*"))
	if err != nil {
		return []string{err.Error()}
	}
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], w.path("spools")+"/")
	}
	return left
}
