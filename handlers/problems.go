package handlers

type listPages struct {
	*Panel
	*Exporter
	*choices
	*Kit
}

type problemPages struct {
	*Panel
	*Exporter
	*choices
	*Kit
}

type decisionPages struct {
	*Panel
	*Kit
}

// newProblemPages returns the pages of lists, of problems and of decisions about them.
func newProblemPages(panel *Panel, exporter *Exporter) (*listPages, *problemPages, *decisionPages) {
	kit := panel.Kit
	choose := &choices{kit}
	return &listPages{panel, exporter, choose, kit}, &problemPages{panel, exporter, choose, kit}, &decisionPages{panel, kit}
}
