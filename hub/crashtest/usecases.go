package crashtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/pairing"
)

// useCase is one call that writes, or may find that it has written before.
type useCase struct {
	name    string
	reads   bool // it has nothing to write
	prepare func(*world)
	run     func(*world, *service) error
	again   func(*world, *service) error // where whoever repeats it does it otherwise
	check   func(*world, hub.Store) error
}

var useCases = []useCase{
	{name: "submit", prepare: nothing, run: submitNew, check: func(w *world, s hub.Store) error {
		if n := len(w.jobs(s)); n < 1 || n > 2 { // without a key the second one is another
			return fmt.Errorf("%d jobs", n)
		}
		return nil
	}},
	{name: "submit with a key", prepare: nothing, run: submitKeyed, check: ended(hub.JobQueued, 0, 0)},
	{name: "lease", prepare: queued, run: (*world).take, check: ended(hub.JobLeased, 1, 0)},
	{name: "lease once more", reads: true, prepare: leased, run: (*world).take, check: ended(hub.JobLeased, 1, 0)},
	{name: "reject a job for want of a capability", prepare: misfit, run: ask, check: ended(hub.JobRejected, 0, 0)},
	{name: "first heartbeat", prepare: leased, run: (*world).beat, check: ended(hub.JobRunning, 1, 0)},
	{name: "heartbeat", prepare: running, run: (*world).beat, check: ended(hub.JobRunning, 1, 0)},
	{name: "succeed", prepare: running, run: report(hub.JobSucceeded, ""), check: ended(hub.JobSucceeded, 1, 0)},
	{name: "fail", prepare: running, run: report(hub.JobFailed, hub.ClassScript), check: ended(hub.JobFailed, 1, 0)},
	{name: "fail and run again", prepare: running, run: report(hub.JobFailed, hub.ClassImagePull), check: ended(hub.JobQueued, 1, 1)},
	{name: "release", prepare: running, run: release, check: ended(hub.JobQueued, 1, 0)},
	{name: "cancel what waits", prepare: queued, run: cancel, check: ended(hub.JobCanceled, 0, 0)},
	{name: "cancel what runs", prepare: running, run: cancel, check: ended(hub.JobRunning, 1, 0)},
	{name: "report a canceled job", prepare: canceling, run: report(hub.JobCanceled, ""), check: ended(hub.JobCanceled, 1, 0)},
	{name: "sweep what was never begun", prepare: after(leased, time.Minute), run: sweep, check: ended(hub.JobQueued, 1, 0)},
	{name: "sweep what was lost", prepare: after(running, 2*time.Minute), run: sweep, check: ended(hub.JobQueued, 1, 1)},
	{name: "sweep what was canceled", prepare: after(canceling, 2*time.Minute), run: sweep, check: ended(hub.JobCanceled, 1, 0)},
	{name: "sweep what nobody takes", prepare: after(queued, 6*time.Minute), run: sweep, check: ended(hub.JobRejected, 0, 0)},
	{name: "retry", prepare: succeeded, run: retry, check: func(w *world, s hub.Store) error {
		if n := len(w.jobs(s)); n != 2 {
			return fmt.Errorf("%d jobs", n)
		}
		return nil
	}},
	{name: "append to a log", prepare: running, run: appendLog, check: logged},
	{name: "announce an artifact", prepare: running, run: announce, check: announced},
	{name: "send an artifact", prepare: announcedOnce, run: sendFile, check: left},
	{name: "send the last part of an artifact", prepare: halfSent, run: sendRest, check: left},
	{name: "leave a file that the hub has", prepare: fileKnown, run: announce, check: left},
	{name: "leave a file that the hub has lost", prepare: fileLost, run: announce, check: announced},
	{name: "unpair a runner with a job", prepare: running, run: revoke, again: revokeAndSweep, check: ended(hub.JobQueued, 1, 1)},
	{name: "start a pairing", prepare: nothing, run: startPairing, check: well},
	{name: "approve a pairing", prepare: started, run: approve, again: approveAgain, check: well},
	{name: "redeem a pairing", prepare: approved, run: redeem, check: paired},
	{name: "tell of a policy", prepare: nothing, run: tellPolicy, check: policyKept},
	{name: "write presence", prepare: nothing, run: present, check: seen},
}

func nothing(*world) {}

func well(*world, hub.Store) error { return nil }

func submitNew(w *world, h *service) error   { return w.submit(h, submission("")) }
func submitKeyed(w *world, h *service) error { return w.submit(h, submission("key")) }

func queued(w *world) { w.must(submitNew(w, w.healthy)) }

func leased(w *world) {
	queued(w)
	w.must(w.take(w.healthy))
}

func running(w *world) {
	leased(w)
	w.must(w.beat(w.healthy))
}

func canceling(w *world) {
	running(w)
	w.must(cancel(w, w.healthy))
}

func succeeded(w *world) {
	running(w)
	w.must(w.settle(w.healthy, hub.JobSucceeded, ""))
}

func misfit(w *world) {
	r := submission("")
	r.Target, r.Spec = w.runner.Runner.ID, []byte("image: busybox\nrequires: [gpu]\n")
	w.must(w.submit(w.healthy, r))
}

func after(prepare func(*world), d time.Duration) func(*world) {
	return func(w *world) {
		prepare(w)
		w.now = w.now.Add(d)
	}
}

// ended checks that there is one job, where it got, and that nothing was counted twice.
func ended(s hub.JobState, attempts, losses int) func(*world, hub.Store) error {
	return func(w *world, st hub.Store) error {
		ids := w.jobs(st)
		if len(ids) != 1 {
			return fmt.Errorf("%d jobs", len(ids))
		}
		j, err := st.GetJob(w.ctx, ids[0])
		if err != nil {
			return err
		}
		if j.State != s || j.Attempt != attempts || j.Losses != losses {
			return fmt.Errorf("the job is %s after %d attempts and %d losses, want %s, %d, %d", j.State, j.Attempt, j.Losses, s, attempts, losses)
		}
		return nil
	}
}

func ask(w *world, h *service) error {
	if err := w.take(h); !errors.Is(err, errNoLease) {
		return err
	}
	return nil // as there must not be one
}

func report(s hub.JobState, c hub.Class) func(*world, *service) error {
	return func(w *world, h *service) error { return w.settle(h, s, c) }
}

func release(w *world, h *service) error {
	return h.Release(w.ctx, w.runner, dispatch.ReleaseRequest{JobID: w.job, Proof: w.lease.Proof})
}

func cancel(w *world, h *service) error {
	_, err := h.Cancel(w.ctx, w.person, w.job, "not needed")
	return err
}

func sweep(w *world, h *service) error { return h.Sweep(w.ctx) }

func retry(w *world, h *service) error {
	_, err := h.Retry(w.ctx, w.person, dispatch.RetryRequest{JobID: w.job, IdempotencyKey: "again"})
	return err
}

const logText = "a line of a log\n"

func appendLog(w *world, h *service) error {
	next, err := h.AppendLog(w.ctx, hub.Digest(w.lease.LogToken), 0, []byte(logText))
	if err == nil && next != int64(len(logText)) {
		err = fmt.Errorf("the next offset is %d", next)
	}
	return err
}

func logged(w *world, s hub.Store) error {
	chunks, err := s.LogChunks(w.ctx, w.job, 1, 0, 10)
	if err != nil || len(chunks) != 1 || chunks[0].Size != int64(len(logText)) {
		return fmt.Errorf("the chunks are %+v, error %w", chunks, err)
	}
	data, err := w.bucket.Get(w.ctx, chunks[0].Key)
	if err != nil || string(data) != logText {
		return fmt.Errorf("the bytes are %q, error %w", data, err)
	}
	return nil
}

// fileBytes is what the job leaves: more than a part has at least.
var fileBytes = bytes.Repeat([]byte("0123456789abcdef"), dispatch.MinUploadPart/16+1)

func announce(w *world, h *service) error {
	sum := sha256.Sum256(fileBytes)
	t, err := h.UploadArtifact(w.ctx, w.runner, dispatch.ArtifactRequest{
		JobID: w.job, Proof: w.lease.Proof, File: hub.ArtifactFile{Name: "out", Path: "out/a"}, Size: int64(len(fileBytes)), Digest: sum[:],
	})
	if err == nil {
		w.upload = t.Token
	}
	return err
}

func announcedOnce(w *world) {
	running(w)
	w.must(announce(w, w.healthy))
}

func halfSent(w *world) {
	announcedOnce(w)
	w.must(send(w, w.healthy, 0, fileBytes[:dispatch.MinUploadPart]))
}

// fileKnown has the owner leave the same bytes under another path.
func fileKnown(w *world) {
	running(w)
	sum := sha256.Sum256(fileBytes)
	t, err := w.healthy.UploadArtifact(w.ctx, w.runner, dispatch.ArtifactRequest{
		JobID: w.job, Proof: w.lease.Proof, File: hub.ArtifactFile{Name: "out", Path: "out/other"}, Size: int64(len(fileBytes)), Digest: sum[:],
	})
	w.must(err)
	w.upload = t.Token
	w.must(send(w, w.healthy, 0, fileBytes))
}

// fileLost has a loss of power take the bytes that the owner had.
func fileLost(w *world) {
	fileKnown(w)
	a, err := w.healthy.store.GetArtifact(w.ctx, w.job, 1, "out/other")
	w.must(err)
	w.must(w.bucket.Put(w.ctx, a.Key, nil))
}

func send(w *world, h *service, offset int64, data []byte) error {
	got, err := h.WriteUpload(w.ctx, hub.Digest(w.upload), offset, int64(len(data)), bytes.NewReader(data))
	if want := offset + int64(len(data)); err == nil && (got.NextOffset != want || got.Done != (want == int64(len(fileBytes)))) {
		err = fmt.Errorf("the upload is told %+v", got)
	}
	return err
}

func sendFile(w *world, h *service) error { return send(w, h, 0, fileBytes) }

func sendRest(w *world, h *service) error {
	return send(w, h, dispatch.MinUploadPart, fileBytes[dispatch.MinUploadPart:])
}

// announced: there is an upload, and nothing to be seen of it.
func announced(w *world, s hub.Store) error {
	if _, err := s.UploadByToken(w.ctx, hub.Digest(w.upload)); err != nil {
		return err
	}
	list, err := s.ListArtifacts(w.ctx, w.job, 1, "", 10)
	list = slices.DeleteFunc(list, func(a hub.Artifact) bool { return a.Path == "out/other" })
	if err == nil && len(list) != 0 {
		err = fmt.Errorf("%d artifacts before any byte was sent", len(list))
	}
	return err
}

// left: the file is there, once, with all of its bytes.
func left(w *world, s hub.Store) error {
	a, err := s.GetArtifact(w.ctx, w.job, 1, "out/a")
	if err != nil {
		return err
	}
	data, err := w.bucket.Get(w.ctx, a.Key)
	if err == nil && !bytes.Equal(data, fileBytes) {
		err = fmt.Errorf("the artifact has %d bytes, or others", len(data))
	}
	return err
}

func revoke(w *world, h *service) error {
	r, err := h.enroll.Revoke(w.ctx, w.person, "", w.runner.Runner.ID)
	if err == nil {
		h.RunnerRevoked(w.ctx, r.Runner)
	}
	return err
}

func revokeAndSweep(w *world, h *service) error {
	if err := revoke(w, h); err != nil && hub.CodeOf(err) != hub.NotFound {
		return err // NotFound: it was unpaired already
	}
	return h.Sweep(w.ctx)
}

func machineOf(w *world) enroll.Machine {
	return enroll.Machine{Hostname: w.runner.Runner.ID, OS: "linux", Arch: "amd64", Version: "test"}
}

func startPairing(w *world, h *service) error {
	s, err := h.enroll.Start(w.ctx, enroll.StartRequest{Machine: machineOf(w), PublicKey: w.public, Address: w.runner.Runner.ID})
	if err == nil {
		w.code, w.pair = s.UserCode, s.Pairing.ID
	}
	return err
}

func started(w *world) { w.must(startPairing(w, w.healthy)) }

func approved(w *world) {
	started(w)
	w.must(approve(w, w.healthy))
}

func approve(w *world, h *service) error {
	_, err := h.enroll.Decide(w.ctx, w.person, enroll.Decision{UserCode: w.code, Approve: true})
	return err
}

// approveAgain finds it open, or decided as it was to be.
func approveAgain(w *world, h *service) error {
	p, err := h.store.GetPairing(w.ctx, w.pair)
	if err != nil || p.State == hub.PairingApproved {
		return err
	}
	return approve(w, h)
}

func redeem(w *world, h *service) error {
	m := []byte("the request")
	r, err := h.enroll.Redeem(w.ctx, enroll.RedeemRequest{
		PairingID: w.pair, Machine: machineOf(w), PublicKey: w.public, Message: m, Signature: pairing.Sign(w.private, m),
	})
	if err == nil && r.State != hub.PairingRedeemed {
		err = fmt.Errorf("the pairing is %s", r.State)
	}
	return err
}

// paired: the machine is a runner, once.
func paired(w *world, s hub.Store) error {
	rs, err := s.ListRunners(w.ctx, hub.UserOwner(w.person.User.ID), true, "", 100)
	if err == nil && len(rs) != 2 {
		err = fmt.Errorf("%d runners", len(rs))
	}
	return err
}

func present(w *world, h *service) error {
	return h.store.SavePresence(w.ctx, map[string]hub.Presence{w.runner.Runner.ID: {OS: "linux", Arch: "amd64", Slots: 7, SeenAt: storetest.Start()}})
}

const toldPolicy = `{"privileged":true}`

func tellPolicy(w *world, h *service) error {
	_, err := h.Lease(w.ctx, w.runner, dispatch.LeaseRequest{RequestID: "request", Presence: hub.Presence{Protocol: 1, Slots: 1, FreeSlots: 1}, Policy: []byte(toldPolicy)})
	return err
}

// policyKept checks that the policy is what the runner told.
func policyKept(w *world, s hub.Store) error {
	r, err := s.GetRunner(w.ctx, w.runner.Runner.ID)
	if err == nil && r.Policy != toldPolicy {
		err = fmt.Errorf("the policy is %q", r.Policy)
	}
	return err
}

func seen(w *world, s hub.Store) error {
	r, err := s.GetRunner(w.ctx, w.runner.Runner.ID)
	if err == nil && (r.Presence.Slots != 7 || !r.Presence.SeenAt.Equal(storetest.Start())) {
		err = fmt.Errorf("the presence is %+v", r.Presence)
	}
	return err
}
