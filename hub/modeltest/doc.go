// Package modeltest holds the lease machine against a model of it. Random histories of submits, leases, lost answers,
// heartbeats, reports, cancels, drains, clock jumps, sweeps, restarts of hubs and silent runners are played on the pure
// functions of package hub and on hub/dispatch over every store, and each answer and each row must be what the model
// allows. It is all tests.
//
// `make test` plays 200 histories on the pure machine and on a store in memory, and 50 on SQLite and on PostgreSQL; `make
// prove` plays 10,000 and more on each. A history that fails is shrunk, printed as text, and kept under testdata/rapid, from
// where every later run plays it first: commit that file with the mend. A history that is worth keeping for good goes as
// text into TestKnownHistories. TestMutantsAreRefuted breaks one rule of the machine at a time, which must be noticed.
package modeltest
