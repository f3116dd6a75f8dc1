package web_test

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// step is something that a person does in a browser, or waits for.
type step = chromedp.Action[chromedp.Void]

// into keeps what an action found.
func into[T any](found *T, action chromedp.Action[T]) step {
	return func(ctx context.Context, target *chromedp.Target) (none chromedp.Void, err error) {
		*found, err = action(ctx, target)
		return none, err
	}
}

// until waits for a condition in the page.
func until(condition string) step {
	var ignored bool
	return into(&ignored, chromedp.Poll[bool](condition))
}

// put replaces what a field holds.
func put(selector, value string) step {
	return chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector(%q).value = %q", selector, value))
}

// browser starts a real Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the pages are tested in a real browser; bring it with: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has gone
		cancelTab()
	})
	run(ctx, t)
	return ctx
}

// tab opens a tab and collects what the page complains about: errors of its
// script, and whatever its own policy has blocked.
func tab(browser context.Context, t *testing.T) (context.Context, *syncBuffer) {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	run(ctx, t)
	console := &syncBuffer{}
	complain := func(s string) { _, _ = console.Write([]byte(s + "\n")) }
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			for _, a := range e.Args {
				complain(string(a.Value))
			}
		case *runtime.EventExceptionThrown:
			complain(e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			complain(e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, console
}

func run(ctx context.Context, t *testing.T, steps ...step) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(ctx, steps...) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the page did not come so far in two minutes")
	}
}
