-- Every request to a tracker takes a start. What is lost in a crash is a wait of moments, or one that the tracker asks for again.
alter table paces set unlogged;
