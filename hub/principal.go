package hub

import "time"

// PrincipalKind is what kind of caller a principal is.
type PrincipalKind string

// The kinds of principal.
const (
	KindUser   PrincipalKind = "user"   // a person or an agent with a person's API key
	KindRunner PrincipalKind = "runner" // a paired machine
	KindSystem PrincipalKind = "system" // the hub itself: sweeps, operator commands
)

// Principal is who calls, as the front door established it from the token.
type Principal struct {
	Kind    PrincipalKind
	User    User   // of KindUser
	KeyID   string // the API key that was used
	KeyName string
	Scope   KeyScope // of that key
	Runner  Runner   // of KindRunner
	// Secret is derived from the caller's token. Leases derive their nonces from
	// it, so that the same request gets the same lease while only a digest is stored.
	Secret  Secret
	Address string // where the call came from, host only
}

// Secret is bytes that must not be printed.
type Secret []byte

// String hides the bytes from fmt and slog.
func (Secret) String() string { return "[secret]" }

// GoString hides the bytes from %#v.
func (Secret) GoString() string { return "[secret]" }

// MarshalText hides the bytes from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Actor is how a principal is written into events: "user:<id>", "runner:<id>" or "system".
func (p Principal) Actor() string {
	switch p.Kind {
	case KindUser:
		return "user:" + p.User.ID
	case KindRunner:
		return "runner:" + p.Runner.ID
	default:
		return string(KindSystem)
	}
}

// User is a person.
type User struct {
	ID        string // usr_<uuid>
	Login     string // unique, lower case, 1 to 39 of a-z 0-9 and hyphens
	Admin     bool   // of the whole hub
	CreatedAt time.Time
}

// Workspace is a tenant.
type Workspace struct {
	ID        string // wsp_<uuid>
	Slug      string // unique, lower case, 1 to 39 of a-z 0-9 and hyphens
	CreatedAt time.Time
}

// Role is what a member may do in a workspace.
type Role string

// The roles.
const (
	RoleMember Role = "member" // submits jobs, sees the roster
	RoleAdmin  Role = "admin"  // pairs and revokes the workspace's runners too
)

// Membership is a workspace that a user belongs to.
type Membership struct {
	Workspace Workspace
	UserID    string
	Role      Role
}

// APIKey is an ak_ credential of a person's. Only its digest is stored.
type APIKey struct {
	ID        string // key_<uuid>
	UserID    string
	Name      string
	Digest    []byte // SHA-256 of the whole token
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: valid
	Scope     KeyScope
}

// KeyScope is what a key may be used for of what its user may do. The zero scope is all of it.
type KeyScope struct {
	ReadOnly bool   // nothing that changes anything
	Toolsets string // names of toolsets with commas between them; "" is all
}

// Valid says whether the key may be used at now.
func (k APIKey) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}
