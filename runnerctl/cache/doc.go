// Package cache keeps folders of jobs on a runner's machine from one job to the next. An entry is a file that is
// written under another name, synced, and renamed when it is whole; it is never changed afterwards. What was used
// longest ago goes first when there is no room, but nothing that is being read.
//
// A store is a folder. Several processes may use it at once: a runner, and the commands of the machine's owner. They
// agree by locks of the system's, which end with a process however that ends.
//
//	lock                  held for moments: while an entry is looked up, appears or goes
//	entries/ID/entry.json what it is
//	entries/ID/data       its tar stream, compressed by zstd; locked by those who read it; its time is that of its last use
//	new/NAME/…            entries that are being written; data is locked by whoever writes
package cache
