package enroll

import (
	"context"
	"errors"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/pairing"
)

// Machine is what a machine says of itself when it pairs.
type Machine struct {
	Hostname, OS, Arch, Version string
}

const maxFact = 255 // bytes of each of a machine's facts

func (m Machine) check() error {
	for name, v := range map[string]string{"hostname": m.Hostname, "os": m.OS, "arch": m.Arch, "version": m.Version} {
		if len(v) > maxFact {
			return hub.Errorf(hub.TooLarge, "machine.%s is longer than %d bytes", name, maxFact).WithHint("shorten it")
		}
	}
	return nil
}

// StartRequest opens a pairing; nobody is signed in.
type StartRequest struct {
	Machine   Machine
	PublicKey string // Ed25519, base64
	Label     string // wished for; "" takes the host name
	Workspace string // slug; "" for a personal runner
	Address   string
}

// Started is what the machine shows its user.
type Started struct {
	Pairing     hub.Pairing
	UserCode    string // the only time that it is known
	Fingerprint string
}

// Start opens a pairing request. Whether the workspace exists is found out by the
// person who approves, so that a stranger learns nothing here.
func (s *Service) Start(ctx context.Context, r StartRequest) (Started, error) {
	now := s.now()
	if wait := s.starts.try(r.Address, now, func() bool { return true }); wait > 0 {
		return Started{}, limited("pairing requests from this address", wait)
	}
	if err := r.Machine.check(); err != nil {
		return Started{}, err
	}
	key, err := pairing.ParseKey(r.PublicKey)
	if err != nil {
		return Started{}, badKey()
	}
	if r.Label != "" {
		if err := hub.CheckLabel(r.Label); err != nil {
			return Started{}, err
		}
	}
	if r.Workspace != "" {
		if err := hub.CheckSlug("workspace slug", r.Workspace); err != nil {
			return Started{}, err
		}
	}
	code := pairing.NewUserCode()
	p := hub.Pairing{
		ID: identity.NewID(hub.PairingIDPrefix), State: hub.PairingPending, CodeDigest: hub.Digest(code), PublicKey: key,
		Hostname: r.Machine.Hostname, OS: r.Machine.OS, Arch: r.Machine.Arch, Version: r.Machine.Version,
		Address: r.Address, Workspace: r.Workspace, Label: r.Label, CreatedAt: now, ExpiresAt: now.Add(hub.PairingTTL),
	}
	e := hub.Event{Time: now, Actor: "machine", Action: hub.ActPairingStarted, Address: r.Address,
		Detail: map[string]string{"pairing": p.ID, "hostname": p.Hostname}}
	if err := s.store.CreatePairing(ctx, p, e); err != nil {
		return Started{}, err
	}
	return Started{Pairing: p, UserCode: code, Fingerprint: pairing.Fingerprint(key)}, nil
}

// View is a pairing as the person who decides sees it.
type View struct {
	Pairing     hub.Pairing
	Fingerprint string
}

// Find looks a request up by the code that a person typed. Only wrong codes are counted.
func (s *Service) Find(ctx context.Context, p hub.Principal, typed string) (v View, err error) {
	wait := s.codes.try(p.User.ID, s.now(), func() (wrong bool) {
		v, err = s.find(ctx, p, typed)
		return hub.CodeOf(err) == hub.NotFound
	})
	if wait > 0 {
		return View{}, limited("wrong pairing codes", wait)
	}
	return v, err
}

func (s *Service) find(ctx context.Context, p hub.Principal, typed string) (View, error) {
	unknown := hub.Errorf(hub.NotFound, "no machine is waiting with that code").
		WithHint("compare it with what `runnerctl pair` shows; a code lives for %d minutes and works once", int(hub.PairingTTL.Minutes()))
	code, ok := pairing.NormalizeUserCode(typed)
	if !ok {
		return View{}, unknown
	}
	req, err := s.store.PairingByCode(ctx, hub.Digest(code))
	if hub.CodeOf(err) == hub.NotFound {
		return View{}, unknown
	}
	if err != nil {
		return View{}, err
	}
	v := View{Pairing: req, Fingerprint: pairing.Fingerprint(req.PublicKey)}
	if req.Workspace == "" {
		return v, nil
	}
	if _, _, err := s.owner(ctx, p, req.Workspace, hub.RoleMember); err != nil {
		if hub.CodeOf(err) != hub.NotFound {
			return View{}, err
		}
		return View{}, hub.Errorf(hub.NotFound, "the machine asks to join a workspace that you are not in").
			WithHint("ask an admin of that workspace to approve it, or run `runnerctl pair` without --workspace")
	}
	return v, nil
}

// Decision is a person's answer to a pairing request.
type Decision struct {
	UserCode string
	Approve  bool
	Label    string // overrides the machine's wish
	Labels   []string
}

// Decide approves or denies a request. For a workspace that needs an admin.
func (s *Service) Decide(ctx context.Context, p hub.Principal, d Decision) (View, error) {
	v, err := s.Find(ctx, p, d.UserCode)
	if err != nil {
		return View{}, err
	}
	now := s.now()
	if err := v.Pairing.Open(hub.PairingPending, now); err != nil {
		return View{}, err
	}
	owner, w, err := s.owner(ctx, p, v.Pairing.Workspace, hub.RoleAdmin)
	if err != nil {
		return View{}, err
	}
	action := hub.ActPairingDenied
	v.Pairing.State = hub.PairingDenied
	if d.Approve {
		if d.Label != "" {
			v.Pairing.Label = d.Label
		}
		v.Pairing.Labels = d.Labels
		if err := s.checkLabels(ctx, owner, v.Pairing.Label, d.Labels); err != nil {
			return View{}, err
		}
		action = hub.ActPairingApproved
		v.Pairing.State, v.Pairing.Owner, v.Pairing.ApprovedBy = hub.PairingApproved, owner, p.User.ID
	}
	e := s.event(p, action, owner)
	e.WorkspaceID = w.ID
	e.Detail = map[string]string{"pairing": v.Pairing.ID, "hostname": v.Pairing.Hostname}
	if err := s.store.DecidePairing(ctx, v.Pairing, e); err != nil {
		return View{}, usedUp(err)
	}
	s.decided.wake()
	return v, nil
}

// Invited is a pairing that is approved ahead, and its pair_ token.
type Invited struct {
	Pairing hub.Pairing
	Token   string // the only time that it is known
}

// Invite approves one machine ahead, for the caller or, by an admin, for a workspace.
func (s *Service) Invite(ctx context.Context, p hub.Principal, workspace, label string, labels []string) (Invited, error) {
	owner, w, err := s.owner(ctx, p, workspace, hub.RoleAdmin)
	if err != nil {
		return Invited{}, err
	}
	if err := s.checkLabels(ctx, owner, label, labels); err != nil {
		return Invited{}, err
	}
	now, token := s.now(), pairing.New(pairing.PairingToken)
	req := hub.Pairing{
		ID: identity.NewID(hub.PairingIDPrefix), State: hub.PairingApproved, TokenDigest: hub.Digest(token),
		Owner: owner, Workspace: workspace, Label: label, Labels: labels, ApprovedBy: p.User.ID,
		Address: p.Address, CreatedAt: now, ExpiresAt: now.Add(hub.PairingTTL),
	}
	e := s.event(p, hub.ActPairingApproved, owner)
	e.WorkspaceID, e.Detail = w.ID, map[string]string{"pairing": req.ID}
	if err := s.store.CreatePairing(ctx, req, e); err != nil {
		return Invited{}, err
	}
	return Invited{Pairing: req, Token: token}, nil
}

// checkLabels refuses labels that are malformed or taken while a person is there to
// choose another one; the store refuses a label that is taken in between.
func (s *Service) checkLabels(ctx context.Context, o hub.Owner, label string, labels []string) error {
	if len(labels) > 20 {
		return hub.Errorf(hub.InvalidArgument, "a runner carries at most 20 labels").WithHint("leave some out")
	}
	for _, l := range labels {
		if err := hub.CheckLabel(l); err != nil {
			return err
		}
	}
	if label == "" {
		return nil
	}
	if err := hub.CheckLabel(label); err != nil {
		return err
	}
	taken, err := s.store.RunnersByLabel(ctx, []hub.Owner{o}, label)
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return labelTaken(label).WithDetail("runner_id", taken[0].ID)
	}
	return nil
}

func labelTaken(label string) *hub.Error {
	return hub.Errorf(hub.Conflict, "a runner with the label %q is paired already", label).
		WithHint("choose another --label, or unpair the other machine first with revoke_runner")
}

func badKey() *hub.Error {
	return hub.Errorf(hub.InvalidArgument, "public_key is not an Ed25519 public key in base64").
		WithHint("pair with `runnerctl pair`, which makes one")
}

func usedUp(err error) error {
	if errors.Is(err, hub.ErrConflict) {
		return hub.Errorf(hub.Conflict, "somebody else has just decided on this pairing").
			WithHint("run `runnerctl pair` again; a code or pairing token works once")
	}
	return err
}

func (s *Service) event(p hub.Principal, a hub.Action, o hub.Owner) hub.Event {
	return hub.Event{Time: s.now(), Actor: p.Actor(), Action: a, Address: p.Address, Owner: o}
}

// labelsToTry is what a runner may be called: its label, or else its host name and,
// where that is taken, the host name with a number.
func labelsToTry(label, hostname string) []string {
	if label != "" {
		return []string{label}
	}
	base := hub.LabelFromHostname(hostname)
	out := []string{base}
	for i := 2; i <= 20; i++ {
		out = append(out, fmt.Sprintf("%s-%d", base, i))
	}
	return out
}
