// Package logtext reads what programs print the way a person does who looks for what went wrong: it takes away what
// only a terminal understands, sees that a line repeats the one before, and tells the lines that say
// why something failed from the rest.
//
// Each line is judged by itself. A log is read from its end as often as from its start, and a page at a time, so
// that what stands around a line is often not known.
package logtext
