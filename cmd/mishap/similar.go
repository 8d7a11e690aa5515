package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/similar"
	"mishap/db/problems"
)

func (p *program) similarCommand() *cobra.Command {
	var train, forget bool
	cmd := &cobra.Command{
		Use:   "similar",
		Short: "Learns which problems are similar from people's merges and splits",
		Long: `Prints the weights by which problems are similar (docs/triage.md).

With --train, it learns better ones from the merges that people made, those that they have undone,
and their splits. It learns from one half of the problems, and prints how well the old and the new
weights find what people decided about the other half. The new ones apply from then on, unless they
are not better.`,
		Example: "  mishap similar --train\n  mishap similar --forget",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if train && forget {
				return errors.New("use either --train or --forget")
			}
			return nil
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			store := problems.New(s.store)
			switch {
			case train:
				lesson, err := store.LearnSimilar(ctx, "")
				if err == nil {
					p.printLesson(lesson)
				}
				return "", err
			case forget:
				if err := store.ForgetSimilar(ctx, ""); err != nil {
					return "", err
				}
			}
			w, err := store.SimilarWeights(ctx)
			if err == nil {
				p.printWeights(w)
			}
			return "", err
		}),
	}
	cmd.Flags().BoolVar(&train, "train", false, "learn from people's decisions")
	cmd.Flags().BoolVar(&forget, "forget", false, "return to the built-in weights")
	return cmd
}

func (p *program) printLesson(l similar.Lesson) {
	p.printf("%s, %s undone or split.", crash.Counted(int64(l.Merges), "merge", "merges"),
		crash.Counted(int64(l.Apart), "pair", "pairs"))
	p.printf("On the half of the problems that was not learned from:")
	p.printf("          most similar is the right one   merged pairs score higher than others")
	p.printf("  before  %28.0f%%  %40.0f%%", 100*l.Before.First, 100*l.Before.Area)
	p.printf("  after   %28.0f%%  %40.0f%%", 100*l.After.First, 100*l.After.Area)
	if !l.Better {
		p.printf("No better weights were found; the old ones stay.")
		return
	}
	p.printWeights(l.Learned)
}

func (p *program) printWeights(w similar.Learned) {
	from := "built in"
	if !w.At.IsZero() {
		from = "learned on " + w.At.UTC().Format(time.DateOnly) + " from " +
			crash.Counted(int64(w.Merges), "merge", "merges")
	}
	p.printf("Weights (%s): position %.3g, share %.3g, distance %.3g, missing %.3g; shown from a score of %.2f, "+
		"possible duplicates from %.2f.", from, w.Position, w.Share, w.Distance, w.Missing, w.Least, w.Likely)
}
