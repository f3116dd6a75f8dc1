package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func accountTests() []test {
	return []test{
		{name: "the first admin", run: bootstrapOnce, alone: true},
		{name: "the first admin, of several hubs", run: bootstrapRace, alone: true},
		{name: "a user comes back", run: userRoundTrip},
		{name: "a workspace comes back", run: workspaceRoundTrip},
		{name: "a login at once", run: userRace},
		{name: "members", run: memberRoles},
		{name: "members of nothing", run: memberMissing},
	}
}

// recorded makes an event that can be found again, and counts it.
func (w *world) recorded(a hub.Action) (e hub.Event, count func() int) {
	e = NewEvent(a)
	e.JobID = NewID("job_") // events are listed by job
	return e, func() int { return len(w.events(e.JobID)) }
}

func bootstrapOnce(w *world) {
	u, ws := NewUser(), NewWorkspace()
	u.Admin = true
	k := NewKey(u.ID)
	e, count := w.recorded(hub.ActHubBootstrapped)
	created, err := w.s.Bootstrap(w.ctx, u, ws, k, e)
	w.must(err)
	w.equal(created, true)
	gotUser, gotKey, err := w.s.UserByKey(w.ctx, k.Digest)
	w.must(err)
	w.equal(gotUser, u)
	w.equal(gotKey, k)
	members, err := w.s.Memberships(w.ctx, u.ID)
	w.must(err)
	w.equal(members, []hub.Membership{{Workspace: ws, UserID: u.ID, Role: hub.RoleAdmin}})
	w.equal(count(), 1)

	v := NewUser()
	created, err = w.s.Bootstrap(w.ctx, v, NewWorkspace(), NewKey(v.ID), e)
	w.must(err)
	w.equal(created, false)
	w.equal(count(), 1)
	_, err = w.s.GetUser(w.ctx, v.ID)
	w.wantCode(err, hub.NotFound)
}

func bootstrapRace(w *world) {
	var created atomic.Int32
	users, errs := make([]hub.User, 6), make([]error, 6)
	together(len(users), func(i int) {
		u, ws := NewUser(), NewWorkspace()
		u.Login, ws.Slug = "admin", "default"
		users[i] = u
		ok, err := w.s.Bootstrap(w.ctx, u, ws, NewKey(u.ID), NewEvent(hub.ActHubBootstrapped))
		if ok {
			created.Add(1)
		}
		errs[i] = err
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(created.Load(), int32(1))
	stored := 0
	for _, u := range users {
		if _, err := w.s.GetUser(w.ctx, u.ID); err == nil {
			stored++
		}
	}
	w.equal(stored, 1)
}

func userRoundTrip(w *world) {
	u, v := NewUser(), NewUser()
	v.Admin = true
	e, count := w.recorded(hub.ActUserCreated)
	w.must(w.s.CreateUser(w.ctx, u, e))
	w.must(w.s.CreateUser(w.ctx, v, e))
	w.equal(count(), 2)
	for _, want := range []hub.User{u, v} {
		got, err := w.s.GetUser(w.ctx, want.ID)
		w.must(err)
		w.equal(got, want)
		got, err = w.s.UserByLogin(w.ctx, want.Login)
		w.must(err)
		w.equal(got, want)
	}
	taken := NewUser()
	taken.Login = u.Login
	w.wantCode(w.s.CreateUser(w.ctx, taken, e), hub.Conflict)
	w.equal(count(), 2)
	_, err := w.s.GetUser(w.ctx, taken.ID)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.UserByLogin(w.ctx, "nobody")
	w.wantCode(err, hub.NotFound)
}

func workspaceRoundTrip(w *world) {
	ws := NewWorkspace()
	e, count := w.recorded(hub.ActWorkspaceCreated)
	w.must(w.s.CreateWorkspace(w.ctx, ws, e))
	got, err := w.s.GetWorkspace(w.ctx, ws.ID)
	w.must(err)
	w.equal(got, ws)
	got, err = w.s.WorkspaceBySlug(w.ctx, ws.Slug)
	w.must(err)
	w.equal(got, ws)
	taken := NewWorkspace()
	taken.Slug = ws.Slug
	w.wantCode(w.s.CreateWorkspace(w.ctx, taken, e), hub.Conflict)
	w.equal(count(), 1)
	_, err = w.s.GetWorkspace(w.ctx, taken.ID)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.WorkspaceBySlug(w.ctx, "nothing")
	w.wantCode(err, hub.NotFound)
}

func userRace(w *world) {
	login := NewUser().Login
	var created, taken atomic.Int32
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		u := NewUser()
		u.Login = login
		switch err := w.s.CreateUser(w.ctx, u, NewEvent(hub.ActUserCreated)); hub.CodeOf(err) {
		case "":
			created.Add(1)
		case hub.Conflict:
			taken.Add(1)
		default:
			errs[i] = err
		}
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(fmt.Sprint(created.Load(), taken.Load()), "1 7")
}

func memberRoles(w *world) {
	u := NewUser()
	w.must(w.s.CreateUser(w.ctx, u, NewEvent(hub.ActUserCreated)))
	e, count := w.recorded(hub.ActMemberAdded)
	var want []hub.Membership
	for i := range 3 {
		ws := NewWorkspace()
		ws.CreatedAt = at(-time.Duration(i) * time.Hour) // the age of the membership counts, not the workspace's
		w.must(w.s.CreateWorkspace(w.ctx, ws, NewEvent(hub.ActWorkspaceCreated)))
		m := hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}
		w.must(w.s.PutMember(w.ctx, m, e))
		want = append(want, m)
	}
	memberships := func() []hub.Membership {
		got, err := w.s.Memberships(w.ctx, u.ID)
		w.must(err)
		return got
	}
	w.equal(memberships(), want)
	want[0].Role = hub.RoleAdmin
	w.must(w.s.PutMember(w.ctx, want[0], e))
	w.equal(memberships(), want) // a new role keeps its place
	w.equal(count(), 4)
	none, err := w.s.Memberships(w.ctx, "usr_missing")
	w.must(err)
	w.equal(none, []hub.Membership{})
}

func memberMissing(w *world) {
	u, ws := NewUser(), NewWorkspace()
	w.must(w.s.CreateUser(w.ctx, u, NewEvent(hub.ActUserCreated)))
	e, count := w.recorded(hub.ActMemberAdded)
	w.wantCode(w.s.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}, e), hub.NotFound)
	w.must(w.s.CreateWorkspace(w.ctx, ws, NewEvent(hub.ActWorkspaceCreated)))
	w.wantCode(w.s.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: "usr_missing", Role: hub.RoleMember}, e), hub.NotFound)
	if err := w.s.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: u.ID, Role: "king"}, e); err == nil {
		w.Fatal("a role that there is not was given")
	}
	w.equal(count(), 0)
}
