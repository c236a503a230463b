package scriptcall

import "github.com/hasp-go/hasp/backend"

// Scored is an element of a sorted set.
type Scored struct {
	Member string
	Score  float64
}

// Scores decodes elements, each with its score, as commands reply with the word WITHSCORES, and ZPOPMIN does.
func Scores(reply backend.Reply) ([]Scored, error) {
	words, err := pairs(reply)
	all := make([]Scored, len(words)/2)
	for i := range all {
		if err == nil {
			all[i].Member, err = words[2*i].Text()
		}
		if err == nil {
			all[i].Score, err = words[2*i+1].Float()
		}
	}
	return all, err
}
