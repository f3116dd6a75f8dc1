package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// maxListed is how many bytes the list of artifacts takes in a result, about; the hub has the whole list.
const maxListed = 48 << 10

// collect says where what the job leaves is kept until the hub has it: in the attempt's entry, which goes with it.
func (t *attempt) collect(e *entry) *topology.Collect {
	return &topology.Collect{
		Dir: e.artifactsDir(), MaxFiles: t.lease.ArtifactLimitFiles, MaxBytes: t.lease.ArtifactLimitBytes,
	}
}

// sendArtifacts brings what the job left to the hub, before its result: afterwards the hub takes nothing more. res then
// lists what the hub has. An artifact that the hub does not get fails a job that succeeded. While the hub is away it is
// tried on, as with all else, until the lease is over.
func (t *attempt) sendArtifacts(ctx context.Context, res *topology.Result, obs topology.Observer) {
	all := res.Artifacts
	if len(all) == 0 {
		return
	}
	begin := time.Now()
	var bytes int64
	for i, f := range all {
		if err := t.sendArtifact(ctx, f); err != nil {
			res.Artifacts = all[:i]
			t.artifactFailed(ctx, res, f, err, obs)
			return
		}
		bytes += f.Size
	}
	t.logger.Info("the hub has what the job left", "files", len(all), "bytes", bytes, "ms", time.Since(begin).Milliseconds())
}

// sendArtifact announces a file and sends what the hub does not have of it, as often as it takes.
func (t *attempt) sendArtifact(ctx context.Context, f topology.CollectedFile) error {
	in, err := os.Open(f.File)
	if err != nil {
		return err
	}
	defer in.Close()
	args := mcp.UploadArtifactArgs{
		LeaseProof: proofOf(t.lease), Name: clip(f.Name, 512), Path: f.Path, Executable: f.Executable, Size: f.Size, SHA256: hex.EncodeToString(f.SHA256),
	}
	pause := hubBackoff()
	for {
		ticket, err := t.a.client.UploadArtifact(ctx, args)
		if err == nil {
			err = t.a.client.Upload(ctx, ticket, in, f.Size, func(int64) { pause.reset() })
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case codeOf(err) == mcp.CodeQuotaExceeded, // the attempt's own limits: they do not pass
			!again(err) && codeOf(err) != mcp.CodeConflict: // another sender of the same bytes
			return err
		}
		t.logger.Debug("an artifact was not sent; trying on", "path", f.Path, "err", err)
		if !pause.wait(ctx, err) {
			return context.Cause(ctx)
		}
	}
}

// artifactFailed makes of an artifact that the hub did not get what is told of it.
func (t *attempt) artifactFailed(ctx context.Context, res *topology.Result, f topology.CollectedFile, err error, obs topology.Observer) {
	switch {
	case ctx.Err() != nil && res.Status == topology.Succeeded:
		res.Status = topology.Canceled // as the cause says, or the attempt is given back
		res.Failure = &topology.Failure{Class: topology.ClassCanceled, Message: "The attempt was ended while what the job left was sent to the hub: " + context.Cause(ctx).Error()}
		return
	case ctx.Err() != nil:
		return
	case codeOf(err) == mcp.CodeStaleLease || codeOf(err) == mcp.CodeAlreadySettled:
		t.keeper.lose()
		return
	}
	text, hint := err.Error(), ""
	var e *mcp.Error
	if errors.As(err, &e) {
		text, hint = e.Message, e.Hint
	}
	message := fmt.Sprintf("The hub does not take the artifact %s: %s", f.Path, text)
	_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(message + "\n")})
	if res.Status == topology.Succeeded {
		res.Status = topology.Failed
		res.Failure = &topology.Failure{
			Class: topology.ClassArtifact, Container: "job", Hint: hint,
			Message: "The job succeeded, but not all that it left could be kept. " + message,
		}
	}
}

// listed is what a result says of the artifacts.
func listed(files []topology.CollectedFile) (out []mcp.ResultArtifact, more int) {
	room := maxListed
	for i, f := range files {
		if room -= len(f.Name) + len(f.Path) + 120; room < 0 || i == mcp.MaxResultArtifacts {
			return out, len(files) - i
		}
		out = append(out, mcp.ResultArtifact{Name: clip(f.Name, 512), Path: f.Path, Size: f.Size, SHA256: hex.EncodeToString(f.SHA256)})
	}
	return out, 0
}

// testsOf are the counts of a job's reports.
func testsOf(t *topology.Tests) *mcp.Tests {
	if t == nil {
		return nil
	}
	out := &mcp.Tests{Passed: t.Passed, Failed: t.Failed, Skipped: t.Skipped, Unread: t.Unread}
	for _, name := range t.Failing {
		out.Failing = append(out.Failing, clip(name, maxName))
	}
	for _, f := range t.Failures {
		out.Failures = append(out.Failures, mcp.TestFailure{Name: clip(f.Name, maxName), Message: clip(f.Message, 1<<10), File: clip(f.File, maxName), Line: f.Line})
	}
	return out
}
