package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a part of the week, "DAYS" or "DAYS FROM-TO": mon-fri 18:00-08:00,
// sat-sun, daily 22:00-06:00. A time that ends before it begins goes on into the
// next day. Times are the machine's own.
type Window string

const minutesOfDay = 24 * 60

// span is a window as it is reckoned with.
type span struct {
	days     [7]bool // on which it begins, Sunday first
	from, to int     // minutes of the day; to is beyond minutesOfDay where it goes on into the next day
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (w Window) span() (s span, err error) {
	days, times, timed := strings.Cut(strings.ToLower(string(w)), " ")
	if s.days, err = daysOf(days); err != nil {
		return s, err
	}
	s.to = minutesOfDay
	if !timed {
		return s, nil
	}
	from, to, ok := strings.Cut(times, "-")
	if !ok {
		return s, fmt.Errorf("%q is not FROM-TO", times)
	}
	if s.from, err = minuteOf(from); err != nil {
		return s, err
	}
	if s.to, err = minuteOf(to); err != nil {
		return s, err
	}
	if s.from == s.to {
		return s, errors.New("it ends when it begins")
	}
	if s.to < s.from {
		s.to += minutesOfDay
	}
	return s, nil
}

func daysOf(text string) (days [7]bool, err error) {
	if text == "daily" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
	if from < 0 || to < 0 {
		return days, fmt.Errorf("%q is no day and no range of days: mon, mon-fri or daily", text)
	}
	for d := from; ; d = (d + 1) % 7 {
		days[d] = true
		if d == to {
			return days, nil
		}
	}
}

// minuteOf reads HH:MM, up to 24:00.
func minuteOf(text string) (int, error) {
	hour, minute, ok := strings.Cut(text, ":")
	h, err := strconv.Atoi(hour)
	m, err2 := strconv.Atoi(minute)
	if !ok || err != nil || err2 != nil || len(minute) != 2 || h < 0 || m < 0 || m > 59 || h*60+m > minutesOfDay {
		return 0, fmt.Errorf("%q is no time of day: 08:00", text)
	}
	return h*60 + m, nil
}

// holds says whether a time lies in the span.
func (s span) holds(t time.Time) bool {
	minute, day := t.Hour()*60+t.Minute(), int(t.Weekday())
	return s.days[day] && s.from <= minute && minute < s.to ||
		s.days[(day+6)%7] && minute+minutesOfDay < s.to // since yesterday
}

// Open says whether a runner takes jobs at a time by its hours, and if not, when
// it next does: the zero time for never.
func (p *Policy) Open(at time.Time) (open bool, next time.Time) {
	if len(p.Hours) == 0 {
		return true, time.Time{}
	}
	for _, w := range p.Hours {
		s, err := w.span()
		if err != nil { // Parse has refused it
			continue
		}
		if s.holds(at) {
			return true, time.Time{}
		}
		if t := s.next(at); next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return false, next
}

// next is the span's next beginning after a time.
func (s span) next(at time.Time) time.Time {
	year, month, day := at.Date()
	for ahead := 0; ; ahead++ {
		begin := time.Date(year, month, day+ahead, s.from/60, s.from%60, 0, 0, at.Location())
		if begin.After(at) && s.days[begin.Weekday()] {
			return begin
		}
	}
}

// closed is the violation of a job that comes outside hours.
func (p *Policy) closed() Violation {
	return Violation{Rule: RuleHours, Message: "it is outside the hours in which the runner takes jobs: " + joined(p.Hours)}
}
