package handlers

type bugPages struct {
	*Panel
	*Exporter
	*Kit
}
