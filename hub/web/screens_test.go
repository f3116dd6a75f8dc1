package web_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/runnerhub/runnerhub/hub"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func pagesFit(b context.Context, t *testing.T) {
	t.Helper()
	url := pairingDoor(t, &waitingMachine{state: hub.PairingPending})
	ctx, console := tab(b, t)
	for _, screen := range []struct {
		name  string
		width int64
		dark  bool
	}{{"wide-light", 1000, false}, {"wide-dark", 1000, true}, {"narrow-light", 360, false}} {
		scheme := "light"
		if screen.dark {
			scheme = "dark"
		}
		var overflow bool
		var pages [3][]byte
		run(ctx, t,
			prefers(scheme),
			chromedp.EmulateViewport(screen.width, 900),
			chromedp.Navigate(url+"/"), into(&pages[0], chromedp.FullScreenshot(100)),
			chromedp.Navigate(url+"/pair"), chromedp.WaitVisible("#ask"), into(&pages[1], chromedp.FullScreenshot(100)),
			chromedp.SendKeys("#code", code), chromedp.SendKeys("#key", adaToken), chromedp.Click("#look"),
			chromedp.WaitVisible("#decide"), into(&pages[2], chromedp.FullScreenshot(100)),
			into(&overflow, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > document.documentElement.clientWidth")),
		)
		if overflow {
			t.Errorf("%s: the page is wider than the screen", screen.name)
		}
		if dir := os.Getenv("SCREENS"); dir != "" { // for who wants to look at them
			for i, page := range []string{"index", "ask", "decide"} {
				if err := os.WriteFile(filepath.Join(dir, screen.name+"-"+page+".png"), pages[i], 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if console.String() != "" {
		t.Errorf("the console has %s", console)
	}
}

func prefers(scheme string) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}
