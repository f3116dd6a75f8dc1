package hub

import (
	"context"
	"io"
	"time"
)

// Store keeps everything that a hub knows. Drivers hold SQL and nothing else:
// what happens is decided by the pure functions of this package, and a store persists it in one
// transaction. hub/storetest is the contract that every driver passes.
//
// A missing row is an *Error with code NotFound. A guarded write that finds
// another state is ErrConflict and changes nothing. A store that cannot be
// reached answers an *Error with code Unavailable. All times are UTC with microseconds.
// Text is UTF-8 without NUL, for which callers answer. An empty list or digest may come back as nil.
type Store interface {
	JobStore
	ExecStore
	LogStore
	UploadStore
	SourceStore
	RetentionStore
	RunnerStore
	AccountStore
	PairingStore

	// HubID is this installation's id, made when the store was created.
	HubID(ctx context.Context) (string, error)
	// Now is the store's clock, which is the one that leases live by.
	Now(ctx context.Context) (time.Time, error)
	// Ping says whether the store can be written to and its schema is current.
	Ping(ctx context.Context) error
	// Notify tells other hubs of hints, best effort. Listen calls f for each hint of another hub until
	// ctx ends, reconnecting by itself; f must not block. After a gap in listening it calls f with the zero Hint: anything may have happened.
	Notify(ctx context.Context, hints []Hint) error
	Listen(ctx context.Context, f func(Hint)) error
	// Lead makes holder the one that does a task from now until a time, or prolongs that: false while another is.
	// A store that one hub alone can have open always answers true. Resign ends it early.
	Lead(ctx context.Context, task, holder string, now, until time.Time) (bool, error)
	Resign(ctx context.Context, task, holder string) error
	Close() error
}

// Hint says that something may have changed. Losing one costs latency, never a job.
type Hint struct {
	Queue QueueKey // a job arrived in this queue
	JobID string   // this job changed, or this request to reach into one
}

// EnqueueParams is a new job.
type EnqueueParams struct {
	Job     Job
	Payload JobPayload
	// IdempotencyKey is scoped to Payload.SubmittedBy; Fingerprint is a digest of the request, to tell a
	// repeat from another job with the same key (Conflict).
	IdempotencyKey string
	Fingerprint    []byte
	MaxQueued      int // above zero: QueueFull when the queue has as many; exact also under concurrency
	Event          Event
	// Handoff, when not nil, is the job's lease to a runner that waits for it, decided on Job. Where it is refused as Apply
	// would refuse it, the job is queued nonetheless; the job that is returned tells by its state. Job must be in no group.
	Handoff *Change
}

// Change is a decision and the event that tells of it.
type Change struct {
	Decision
	Event Event // written when Decision.Action is not empty; the store takes Action and Detail from the decision
	// MaxRunning, when above zero, refuses (QuotaExceeded) a lease that would give the job's owner more live
	// attempts than that.
	MaxRunning int
	// MaxRunningPerWorkspace, when above zero, refuses (QuotaExceeded) a lease that would give the job's workspace more
	// live attempts on the owner's runners than that. Both caps are exact also under concurrency.
	MaxRunningPerWorkspace int
}

// Share is a workspace that has jobs in a queue.
type Share struct {
	WorkspaceID string
	Head        QueuePos // its first job there
	Live        int      // its live attempts on the runners of the queue's owner
}

// QueuedJob is a job at its place in a queue, with what placement needs. Its payload lacks Spec.
type QueuedJob struct {
	Job     Job
	Payload JobPayload
}

// QueuePos is a place in a queue's order (rank, id).
type QueuePos struct {
	Rank int
	ID   string
}

// LiveJob is a job that a runner holds.
type LiveJob struct {
	Job     Job
	Payload JobPayload // lacks Spec
	Revoked bool       // its runner was unpaired
}

// JobFilter selects jobs, the newest first. Zero fields do not filter.
type JobFilter struct {
	Owners      []Owner // whose jobs the caller may see; never empty
	States      []JobState
	RunnerID    string // that ran or runs it, or that it is targeted at
	WorkspaceID string
	BatchID     string
	Since       time.Time // created at or after
	Until       time.Time // created before
	BeforeID    string    // page: ids below this
	Limit       int
}

// JobStore keeps jobs, attempts, results and events.
type JobStore interface {
	// Enqueue stores a job; existing says that its idempotency key had stored one before, which is returned
	// as it is now, full queue or not. Conflict: the id is taken, or the key by another request.
	Enqueue(ctx context.Context, p EnqueueParams) (job Job, existing bool, err error)
	// Apply writes one decision, its attempt and its event in one transaction, guarded by
	// id, state, epoch and revision: ErrConflict when the row is another one by now, or missing. A lease is refused
	// when it would exceed a cap of the change, with ErrGroupBusy while another live job holds the job's group, and with
	// ErrRevoked when its runner was revoked.
	Apply(ctx context.Context, c Change) error
	GetJob(ctx context.Context, id string) (Job, error)
	GetPayload(ctx context.Context, jobID string) (JobPayload, error)
	// ListQueued pages one queue in claim order, after a place (zero: from its head).
	ListQueued(ctx context.Context, k QueueKey, after *QueuePos, limit int) ([]QueuedJob, error)
	// CountAhead counts the queued jobs before a place.
	CountAhead(ctx context.Context, k QueueKey, at QueuePos) (int, error)
	// ListQueuedOf is ListQueued of one workspace's jobs alone.
	ListQueuedOf(ctx context.Context, k QueueKey, workspaceID string, after *QueuePos, limit int) ([]QueuedJob, error)
	// Shares lists the workspaces that have jobs in a queue, the one with the fewest live attempts first, and of
	// equals the one whose first job comes first.
	Shares(ctx context.Context, k QueueKey) ([]Share, error)
	// GroupHolders finds the live jobs of concurrency groups, by group; a group that is free is not among them.
	GroupHolders(ctx context.Context, groups []Group) (map[Group]string, error)
	// ListGroup lists the queued jobs of a concurrency group in claim order, over all queues; at most limit.
	ListGroup(ctx context.Context, g Group, limit int) ([]QueuedJob, error)
	// QueueKeys lists the queues that hold a job which entered before a time.
	QueueKeys(ctx context.Context, before time.Time) ([]QueueKey, error)
	// ListLive pages all leased and running jobs by id.
	ListLive(ctx context.Context, afterID string, limit int) ([]LiveJob, error)
	// LiveOfRunner lists what one runner holds.
	LiveOfRunner(ctx context.Context, runnerID string) ([]Job, error)
	// CountLive counts live attempts per runner of an owner.
	CountLive(ctx context.Context, o Owner) (map[string]int, error)
	ListJobs(ctx context.Context, f JobFilter) ([]QueuedJob, error)
	ListAttempts(ctx context.Context, jobID string) ([]Attempt, error) // without results
	GetAttempt(ctx context.Context, jobID string, number int) (Attempt, error)
	ListEvents(ctx context.Context, jobID string) ([]Event, error)
}

// ExecStore keeps requests to reach into live attempts, which are few and soon gone. An event is written with the change
// that it tells of unless its Action is empty.
type ExecStore interface {
	// CreateExec stores a request. QuotaExceeded when the job has most open ones already; exact also under concurrency.
	CreateExec(ctx context.Context, x Exec, most int, e Event) error
	GetExec(ctx context.Context, id string) (Exec, error)
	// OpenExecs lists a job's requests that have not ended, the oldest first.
	OpenExecs(ctx context.Context, jobID string) ([]Exec, error)
	// UpdateExec writes a request over the one of the revision before; ErrConflict when there is another.
	UpdateExec(ctx context.Context, x Exec, e Event) error
	// ExpiredExecs lists requests whose ExpiresAt is before a time, at most limit.
	ExpiredExecs(ctx context.Context, before time.Time, limit int) ([]Exec, error)
	DeleteExecs(ctx context.Context, ids []string) error
}

// LogChunk is a run of log bytes in the blob bucket.
type LogChunk struct {
	Start  int64 // offset in the attempt's log
	Size   int64
	Digest []byte // SHA-256
	Key    string // in the bucket
}

// LogStore keeps the index of logs; the bytes are in a Bucket.
type LogStore interface {
	// AttemptByLog finds an attempt by the digest of its log's capability.
	AttemptByLog(ctx context.Context, digest []byte) (Attempt, error)
	// AppendLog adds a chunk at the log's end and grows Attempt.LogSize; ErrConflict when the log ends elsewhere,
	// InvalidArgument for an empty chunk. How late is too late is not for the store to say.
	AppendLog(ctx context.Context, jobID string, attempt int, c LogChunk) error
	// LogChunks lists chunks that end after from, in order; at most limit. Dropped chunks leave a gap.
	LogChunks(ctx context.Context, jobID string, attempt int, from int64, limit int) ([]LogChunk, error)
	// LogChunksBefore lists chunks that start before an offset, the last first.
	LogChunksBefore(ctx context.Context, jobID string, attempt int, before int64, limit int) ([]LogChunk, error)
	// DropLogChunks forgets chunks, whose bytes then can be deleted.
	DropLogChunks(ctx context.Context, jobID string, attempt int, starts []int64) error
}

// UploadStore keeps what is being uploaded and what came of it; the bytes are in a Bucket.
type UploadStore interface {
	// CreateUpload stores an upload. An artifact's is refused with StaleLease when its attempt is not live, and any with
	// QuotaExceeded when it would go beyond the caps, which are exact for artifacts also under concurrency.
	CreateUpload(ctx context.Context, u Upload, c UploadCaps) error
	// UploadByToken finds an upload by the digest of its capability.
	UploadByToken(ctx context.Context, digest []byte) (Upload, error)
	// OpenUpload finds an open upload of the same bytes, for the same thing and by the same caller.
	OpenUpload(ctx context.Context, like Upload) (Upload, error)
	// GrowUpload adds a part where the upload ends; ErrConflict when it ends elsewhere or is not open.
	GrowUpload(ctx context.Context, id string, p UploadPart) error
	// UploadParts lists parts that start at an offset or after it, in order; at most limit.
	UploadParts(ctx context.Context, id string, from int64, limit int) ([]UploadPart, error)
	// FinishUpload ends an open upload: b exists from then on, or an older blob of the same bytes is kept until
	// b.KeepUntil in its place, which is returned. An artifact's upload makes the artifact, or replaces the one at its path,
	// which expires with b.KeepUntil; StaleLease when the attempt is not live. ErrConflict when the upload is not open.
	FinishUpload(ctx context.Context, id string, b Blob) (Blob, error)
	// DropUpload ends an open upload without a blob; ErrConflict when it is not open.
	DropUpload(ctx context.Context, id string) error
	// OldUploads lists uploads that expired before a time, in whatever state; at most limit.
	OldUploads(ctx context.Context, before time.Time, limit int) ([]Upload, error)
	// DeleteUpload forgets an upload and its parts.
	DeleteUpload(ctx context.Context, id string) error

	// FindBlob finds an owner's blob by its digest.
	FindBlob(ctx context.Context, o Owner, digest []byte) (Blob, error)
	// KeepBlob keeps a blob until a time at least; NotFound when it is gone or about to go.
	KeepBlob(ctx context.Context, id string, until time.Time) error
	// CondemnBlobs finds blobs that were to be kept until before a time: from then on nobody else finds them, and no use
	// of them is begun. It lists those that an earlier call found and that were not deleted as well; at most limit.
	CondemnBlobs(ctx context.Context, before time.Time, limit int) ([]Blob, error)
	// CondemnBlob does it to one whose bytes are not what they should be, whenever it was to be kept until. It goes at its
	// time like the others; one that is not there is no error.
	CondemnBlob(ctx context.Context, id string) error
	// DeleteBlob forgets a condemned blob, whose bytes are gone.
	DeleteBlob(ctx context.Context, id string) error

	// PutArtifact makes an artifact of a blob that is there, as FinishUpload does; NotFound when the blob is not.
	PutArtifact(ctx context.Context, a Artifact, c UploadCaps) error
	// ListArtifacts lists an attempt's artifacts by path, after one; at most limit.
	ListArtifacts(ctx context.Context, jobID string, attempt int, afterPath string, limit int) ([]Artifact, error)
	GetArtifact(ctx context.Context, jobID string, attempt int, path string) (Artifact, error)
	// DeleteArtifacts forgets artifacts that expired before a time, at most limit, and answers how many there were. Their
	// blobs stay until their own time is over.
	DeleteArtifacts(ctx context.Context, before time.Time, limit int) (int, error)
}

// SourceStore keeps which attempts have taken the source that they start from.
type SourceStore interface {
	// TakeSource notes that a live attempt takes its source: ErrConflict when it has before, or is not live or not there.
	TakeSource(ctx context.Context, jobID string, attempt int, at time.Time) error
	// ReturnSource undoes that, for a source that did not arrive; nothing to undo is no error.
	ReturnSource(ctx context.Context, jobID string, attempt int) error
}

// KeyPos is a place among the idempotency keys.
type KeyPos struct{ Scope, Key string }

// RetentionStore lets go of jobs that ended long ago, with all that was kept of them but the bytes of
// their logs. What has not ended is never touched. Each call is one short transaction. Idempotency keys are
// found by a walk and not by job, which would need an index that every enqueue pays for; so they go first.
type RetentionStore interface {
	// DeleteKeys looks at up to limit idempotency keys after a place, and deletes those made before a time whose
	// job ended before it too or is gone. It answers where to go on, the zero place at the end.
	DeleteKeys(ctx context.Context, before time.Time, after KeyPos, limit int) (next KeyPos, err error)
	// EndedBefore looks at up to limit jobs after an id whose ids are older than a time, and lists those that
	// ended before it. It answers where to go on, "" at the end.
	EndedBefore(ctx context.Context, before time.Time, afterID string, limit int) (ids []string, next string, err error)
	// DeleteJobs deletes those of some jobs that ended before a time: rows, payloads, attempts, results, events,
	// artifacts and the indexes of logs. It answers how many there were.
	DeleteJobs(ctx context.Context, before time.Time, ids []string) (int, error)
}

// RunnerStore keeps runners.
type RunnerStore interface {
	GetRunner(ctx context.Context, id string) (Runner, error)
	// RunnerByToken finds a runner by its token's digest, revoked ones too.
	RunnerByToken(ctx context.Context, digest []byte) (Runner, error)
	// ListRunners pages an owner's runners by id; revoked adds the revoked ones.
	ListRunners(ctx context.Context, o Owner, revoked bool, afterID string, limit int) ([]Runner, error)
	// RunnersByLabel finds runners that are not revoked by label, of several owners.
	RunnersByLabel(ctx context.Context, owners []Owner, label string) ([]Runner, error)
	// RevokeRunner revokes; a runner that is revoked already stays as it is.
	RevokeRunner(ctx context.Context, id string, at time.Time, e Event) (Runner, error)
	// SavePolicy keeps what a runner told of its owner's policy, and the event of it when that is news. NotFound: no such runner.
	SavePolicy(ctx context.Context, id, policy string, e Event) error
	// SavePresence writes the presence of several runners, but over none that was seen later. It skips runners that there are not.
	SavePresence(ctx context.Context, p map[string]Presence) error
}

// AccountStore keeps users, workspaces, members and API keys.
type AccountStore interface {
	// Bootstrap creates the first admin, workspace and key when the store has no user; created tells.
	// Of several hubs that start at once exactly one creates. The user is an admin of the workspace.
	Bootstrap(ctx context.Context, u User, w Workspace, k APIKey, e Event) (created bool, err error)
	CreateUser(ctx context.Context, u User, e Event) error           // Conflict: the login is taken
	CreateWorkspace(ctx context.Context, w Workspace, e Event) error // Conflict: the slug is taken
	PutMember(ctx context.Context, m Membership, e Event) error      // adds, or changes the role
	CreateKey(ctx context.Context, k APIKey, e Event) error
	RevokeKey(ctx context.Context, id string, at time.Time, e Event) error
	// UserByKey finds an API key and its user by the key's digest, revoked and expired keys too.
	UserByKey(ctx context.Context, digest []byte) (User, APIKey, error)
	GetUser(ctx context.Context, id string) (User, error)
	UserByLogin(ctx context.Context, login string) (User, error)
	GetWorkspace(ctx context.Context, id string) (Workspace, error)
	WorkspaceBySlug(ctx context.Context, slug string) (Workspace, error)
	// Memberships lists a user's workspaces, the oldest membership first.
	Memberships(ctx context.Context, userID string) ([]Membership, error)
}

// PairingStore keeps pairing requests.
type PairingStore interface {
	CreatePairing(ctx context.Context, p Pairing, e Event) error // Conflict: the code or token is taken
	GetPairing(ctx context.Context, id string) (Pairing, error)
	PairingByCode(ctx context.Context, digest []byte) (Pairing, error)
	PairingByToken(ctx context.Context, digest []byte) (Pairing, error)
	// DecidePairing writes p, guarded by its state still being pending.
	DecidePairing(ctx context.Context, p Pairing, e Event) error
	// RedeemPairing writes p (redeemed), guarded by its state still being approved, and the runner with its presence, at once.
	// Conflict when the owner has a runner with that label.
	RedeemPairing(ctx context.Context, p Pairing, r Runner, e Event) error
	// DeletePairings forgets requests that expired before a time.
	DeletePairings(ctx context.Context, before time.Time) (int, error)
}

// Bucket keeps bytes by key. A missing key is NotFound. What Put and Commit have stored outlasts a loss of power.
type Bucket interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	// Size is how many bytes the blob of key has.
	Size(ctx context.Context, key string) (int64, error)
	// Create begins a blob that is written as a stream.
	Create(ctx context.Context, key string) (BlobWriter, error)
	// Open reads a blob as a stream, length bytes from an offset on, all the rest when length is negative. A blob that ends
	// before gives less.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
	// DeleteAll deletes every blob below a folder, which is what keys have before a slash, but for the keys in keep. What
	// writers that were killed have left there goes too.
	DeleteAll(ctx context.Context, folder string, keep ...string) error
	Close() error
}

// BlobWriter writes one blob. It appears whole with Commit, or not at all.
type BlobWriter interface {
	io.Writer
	// Commit ends the blob and makes it appear.
	Commit() error
	// Close drops what was written, unless Commit was called. It may be called at any time.
	Close() error
}
