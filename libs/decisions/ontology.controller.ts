import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import { CallerOf, Input, Operation, PartOf } from '#http/operation.js';
import { EditOntologyInput, OntologyInput, StartOntologyInput } from './contract-ontology.js';
import { EditOntologyReceipt, Ontology, OntologyReceipt } from './contract-ontology-view.js';
import { EditOntology, GetOntology, StartOntology } from './messages.js';

@Controller('v1')
@PartOf('decisions')
export class OntologyController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation('GET', 'ontology', 'The ontology, its versions and proposals', OntologyInput, Ontology)
  ontology(@CallerOf() caller: Caller, @Input() input: OntologyInput) {
    return this.queries.execute(new GetOntology(caller, input));
  }

  @Operation(
    'POST',
    'ontology/drafts',
    'Propose an ontology from a description',
    StartOntologyInput,
    OntologyReceipt,
    201,
  )
  start(@CallerOf() caller: Caller, @Input() input: StartOntologyInput) {
    return this.commands.execute(new StartOntology(caller, input));
  }

  @Operation(
    'POST',
    'ontology/changes',
    'Propose a change, approve or reject a proposal, prepare a rollback',
    EditOntologyInput,
    EditOntologyReceipt,
  )
  edit(@CallerOf() caller: Caller, @Input() input: EditOntologyInput) {
    return this.commands.execute(new EditOntology(caller, input));
  }
}
