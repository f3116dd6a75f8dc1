// Package power says whether this machine runs on its battery.
package power
