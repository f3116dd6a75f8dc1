/*
 * The life of one job over an unreliable wire: what the machine of package hub,
 * the guarded write of a store and the calls of runners come to when any answer may
 * be lost, any process may stop for ever or for a while, and any number of hubs decide
 * at the same time. README.md says what is left out and what is proved.
 *
 * One macro breaks one rule, and the checker must then find a history that ends badly:
 *
 *   FENCE_IGNORES_EPOCH   a report is accepted from whoever held the job once
 *   WRITE_IGNORES_GUARD   a decision is written without asking whether its row is still there
 *   REPEAT_IS_ANOTHER     the repeat of an accepted report is not known again
 *   CANCEL_IS_FORGOTTEN   an attempt that is lost after a cancel was asked for is queued again
 *   NO_SWEEP              nobody looks for leases that ran out
 */

#ifndef RUNNERS
#define RUNNERS 2 /* slots that ask for work; two of one machine differ no more than two machines */
#endif
#ifndef FAULTS
#define FAULTS 3 /* lost answers, kills, slow runners, drains and echoes, all together */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2 /* max_attempts */
#endif

/* Each lease after the first needs a loss or a fault, or a job could be handed out for ever. */
#define LEASES (ATTEMPTS + FAULTS)

mtype:state  = { queued, leased, running, succeeded, failed, canceled, timed_out };
mtype:report = { success, breakage }; /* breakage is an infrastructure failure, which is retried */
#define nothing 0                     /* the start of every variable */

/* What a hub decides: no write, or one. */
mtype:decision = {
	none, again, refuse, duplicate,
	lease, acknowledge, renew, succeed, fail, lose, give_back, cancel, time_out, ask
};

/* The job's row. */
mtype:state state = queued;
byte epoch, losses, holder; /* holder: a runner's number plus one */
bool pending;               /* the holder still asks with the request id that got the lease */
bool asked;                 /* a cancel was asked for */

/*
 * Whose look at the row is out of date: the guard on its revision. A bit for each process
 * says as much as a number that grows, and does not make two equal rows differ.
 */
bool outdated[RUNNERS + 3] = true;

/* Its attempts. The number of an attempt and the epoch of its lease grow together, so one stands for both. */
bool live[LEASES + 1];
mtype:report accepted[LEASES + 1];

/* The clocks of the hub, as far as a decision asks for them. */
bool expired;  /* the lease ran out */
bool deadline; /* the attempt has used up its time; its lease never outlasts it */

/* What runners have: the lease that each works on, one whose answer is on its way, and each report that was ever sent. */
byte mine[RUNNERS], coming[RUNNERS];
mtype:report sent[LEASES + 1];

byte faults = FAULTS;

byte calls; /* in progress; a third one at the same time could only conflict with the two in the same way */
#define FREE (calls < 2)

#define LIVE (state == leased || state == running)
#define over (state == succeeded || state == failed || state == canceled || state == timed_out)

/* A nonce cannot be guessed, so whoever shows a lease was given it. */
#ifdef FENCE_IGNORES_EPOCH
#define HOLDS(e) LIVE
#else
#define HOLDS(e) (LIVE && (e) == epoch)
#endif

#ifdef WRITE_IGNORES_GUARD
#define UNCHANGED true
#else
#define UNCHANGED (!outdated[me])
#endif

#ifdef CANCEL_IS_FORGOTTEN
#define CANCELED false
#else
#define CANCELED asked
#endif

#define WRITES (!(d == none || d == again || d == refuse || d == duplicate))
#define LAST (losses + 1 >= ATTEMPTS)

/* end closes the attempt that holds the job, which happens once. */
inline end(next) {
	assert(LIVE && live[epoch]);
	live[epoch] = false;
	state = next;
	holder = 0; pending = false; expired = false; deadline = false
}

/*
 * commit is the second half of every call: the guarded write of decision d, which was made
 * for lease e and which me made of what it saw. A conflict changes nothing.
 */
inline commit(e) {
	d_step {
		conflict = false;
		if
		:: !WRITES
		:: WRITES && !UNCHANGED -> conflict = true
		:: WRITES && UNCHANGED ->
			assert(!over); /* nothing is written to a job that has ended */
			assert(d == lease || d == ask || (d == cancel && e == 0) || e == epoch); /* nor by a lease that is not the job's */
			if
			:: d == lease       -> assert(state == queued && losses < ATTEMPTS && epoch < LEASES);
			                       epoch++; state = leased; live[epoch] = true
			:: d == acknowledge -> state = running; expired = false
			:: d == renew       -> expired = false
			:: d == succeed     -> end(succeeded)
			:: d == fail        -> end(failed)
			:: d == lose        -> losses++; end(queued)
			:: d == give_back   -> end(queued)
			:: d == time_out    -> end(timed_out)
			:: d == cancel && LIVE  -> end(canceled)
			:: d == cancel && !LIVE -> assert(state == queued); state = canceled; asked = true
			:: d == ask         -> asked = true
			fi;
			for (i : 0 .. RUNNERS + 2) { outdated[i] = true }
			/* At most one attempt lives: the latest, exactly while the job is leased or running. */
			n = 0;
			for (i : 1 .. LEASES) { n = n + (live[i] -> 1 : 0) }
			i = 0;
			assert(n == (LIVE -> 1 : 0));
			assert(!LIVE || live[epoch]);
			/* What is to be canceled never waits for another runner. */
			assert(!(state == queued && asked));
			n = 0
		fi
	}
}

/* judge is what a hub makes of report r of lease e. */
inline judge(e, r) {
	outdated[me] = false;
	if
	:: HOLDS(e) && r == success                         -> d = succeed
	:: HOLDS(e) && r == breakage && CANCELED            -> d = cancel
	:: HOLDS(e) && r == breakage && !CANCELED && LAST   -> d = fail
	:: HOLDS(e) && r == breakage && !CANCELED && !LAST  -> d = lose
#ifdef REPEAT_IS_ANOTHER
	:: !HOLDS(e)                                        -> d = refuse
#else
	:: !HOLDS(e) && accepted[e] == r                    -> d = duplicate
	:: !HOLDS(e) && accepted[e] != r                    -> d = refuse
#endif
	fi
}

/* submit judges report r of lease e and notes it with the write, so that a repeat is known. */
inline submit(e, r) {
	d_step { judge(e, r) }
	atomic {
		commit(e);
		if
		:: !conflict && WRITES -> accepted[e] = r
		:: else
		fi
	}
}

/* done ends a call. Variables that are not in use have one value each, or equal states would differ. */
inline done() { d = none; e = 0; outdated[me] = true; conflict = false; calls-- }

proctype Runner(byte me) {
	byte n, i, e;
	bool conflict, begun;
	mtype:decision d = none;

	do
	/* lease_job, with one request id until it has brought a lease. */
	:: atomic { mine[me] == 0 && FREE && (state == queued || (holder == me + 1 && pending)) -> calls++ }
		d_step {
			outdated[me] = false;
			if
			:: state == queued                             -> d = lease
			:: LIVE && holder == me + 1 && pending         -> d = again; e = epoch; coming[me] = epoch
			:: state != queued && !(LIVE && holder == me + 1 && pending) -> d = none
			fi
		}
		atomic {
			commit(0);
			if
			:: !conflict && d == lease -> holder = me + 1; pending = true; e = epoch; coming[me] = epoch
			:: else
			fi
		}
		atomic {
			if
			:: e == 0
			:: e != 0 -> mine[me] = e; pending = (holder == me + 1 -> false : pending)
			:: e != 0 && faults > 0 -> faults-- /* the answer is lost */
			fi;
			coming[me] = 0;
			done()
		}

	:: mine[me] == 0 && LIVE && !(holder == me + 1 && pending) -> skip /* the call ended with nothing, and another one begins */

	/* heartbeat_job. The first one acknowledges; of the later ones only those matter that come in the nick of time. */
	:: atomic { mine[me] != 0 && FREE && (!begun || expired) -> calls++; e = mine[me] }
		d_step {
			outdated[me] = false;
			if
			:: !HOLDS(e) || deadline                     -> d = refuse
			:: HOLDS(e) && !deadline && state == leased  -> d = acknowledge
			:: HOLDS(e) && !deadline && state == running -> d = renew
			fi
		}
		commit(e);
		atomic {
			if
			:: conflict
			:: !conflict && d == refuse -> mine[me] = 0; begun = false /* it kills its containers */
			:: !conflict && d != refuse -> begun = true
			:: !conflict && faults > 0  -> faults--
			fi;
			done()
		}

	/* submit_job_result: the same report until it is answered. */
	:: atomic { mine[me] != 0 && FREE && begun -> calls++; e = mine[me];
			if
			:: sent[e] == nothing -> sent[e] = success
			:: sent[e] == nothing -> sent[e] = breakage
			:: sent[e] != nothing
			fi }
		submit(e, sent[e]);
		atomic {
			assert(conflict || d != refuse || accepted[e] != sent[e]); /* who was heard is told so */
			if
			:: conflict
			:: !conflict -> mine[me] = 0; begun = false
			:: !conflict && faults > 0 -> faults--
			fi;
			done()
		}

	/* release_job, for a drain: it costs the job nothing, and one that is to be canceled ends by it. */
	:: atomic { mine[me] != 0 && FREE && sent[mine[me]] == nothing && faults > 0 -> calls++; faults--; e = mine[me] }
		d_step {
			outdated[me] = false;
			if
			:: !HOLDS(e)             -> d = refuse
			:: HOLDS(e) && CANCELED  -> d = cancel
			:: HOLDS(e) && !CANCELED -> d = give_back
			fi
		}
		commit(e);
		atomic {
			if
			:: conflict
			:: !conflict -> mine[me] = 0; begun = false
			fi;
			done()
		}

	/* kill -9 and a new start, which knows of no lease and asks with another id. */
	:: atomic { (mine[me] != 0 || (holder == me + 1 && pending)) && faults > 0 ->
			faults--; mine[me] = 0; begun = false;
			pending = (holder == me + 1 -> false : pending) }

	:: mine[me] == 0 && over -> break
	od
}

/* A report that was sent before arrives, again or at last, at any time and at any hub. */
proctype Echo(byte me) {
	byte n, i, e;
	bool conflict;
	mtype:decision d = none;

	do
	:: atomic { FREE && faults > 0 && sent[1] != nothing -> calls++; faults--;
			if
			:: sent[1] != nothing -> e = 1
			:: sent[2] != nothing -> e = 2
			:: sent[3] != nothing -> e = 3
			fi }
		submit(e, sent[e]);
		d_step { done() }
	:: over -> break
	od
}

/* The sweep of some hub. Two of them at once differ from one only in conflicts, which runners bring as well. */
proctype Sweep(byte me) {
	byte n, i, e;
	bool conflict;
	mtype:decision d = none;

	do
	:: atomic { FREE && LIVE && expired -> calls++ }
		d_step {
			outdated[me] = false; e = epoch;
			if
			:: !(LIVE && expired)                                        -> d = none
			:: LIVE && expired && CANCELED                               -> d = cancel
			:: LIVE && expired && !CANCELED && state == leased           -> d = give_back
			:: LIVE && expired && !CANCELED && state == running && deadline           -> d = time_out
			:: LIVE && expired && !CANCELED && state == running && !deadline && LAST  -> d = fail
			:: LIVE && expired && !CANCELED && state == running && !deadline && !LAST -> d = lose
			fi
		}
		commit(e);
		d_step { done() }
	:: over -> break
	od
}

/* Somebody cancels the job, or nobody does. */
proctype Person(byte me) {
	byte n, i, e;
	bool conflict;
	mtype:decision d = none;

	do
	:: atomic { FREE && !over && !asked -> calls++ }
		d_step {
			outdated[me] = false;
			if
			:: state == queued -> d = cancel
			:: LIVE && !asked  -> d = ask
			:: else            -> d = refuse
			fi
		}
		commit(0);
		d_step { done() }
	:: break
	od
}

#define ATTENDED (mine[0] == epoch || coming[0] == epoch || mine[RUNNERS - 1] == epoch || coming[RUNNERS - 1] == epoch)

/* Time passes. A lease that nobody works on runs out for certain; one that somebody does, when he is slow. */
proctype Clock() {
	do
	:: atomic { LIVE && !expired && !ATTENDED -> expired = true }
	:: atomic { LIVE && !expired && faults > 0 -> faults--; expired = true }
	:: atomic { LIVE && !deadline && faults > 0 -> faults--; expired = true; deadline = true }
	:: over -> break
	od
}

init {
	byte k;
	atomic {
		for (k : 0 .. RUNNERS - 1) { run Runner(k) }
		run Echo(RUNNERS);
#ifndef NO_SWEEP
		run Sweep(RUNNERS + 1);
#endif
		run Person(RUNNERS + 2);
		run Clock()
	}
}

/* However many answers are lost and whoever dies, as long as faults end: the job ends, and stays so. */
ltl ends { <> [] over }
