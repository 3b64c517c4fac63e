-- What an operator takes away of a plugin's permissions, whatever version serves: {http: [{host, methods}], operations, open_routes}.
alter table plugins add column denied json;
